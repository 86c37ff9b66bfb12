"""Architectures, one a file: in a checkout in its folder models/, once installed here."""

from typing import TYPE_CHECKING

from minifp.runtime import late

late.from_checkout(__name__)

if TYPE_CHECKING:
    from minifp.models.alexnet import AlexNet
    from minifp.models.biglstm import BigLSTM
    from minifp.models.chargru import CharGRU
    from minifp.models.charlstm import CharLSTM
    from minifp.models.cifar_resnet import CIFARResNet
    from minifp.models.dcgan import DCGAN, DCGAN128
    from minifp.models.deepspeech2 import DeepSpeech2, DeepSpeech2Mandarin
    from minifp.models.densenet import DenseNet121
    from minifp.models.faster_rcnn import FasterRCNN
    from minifp.models.googlenet import GoogLeNet, with_auxiliary
    from minifp.models.gpt import GPT, GPTConfig
    from minifp.models.inception_v2 import InceptionV2
    from minifp.models.inception_v3 import InceptionV3
    from minifp.models.lenet import LeNet
    from minifp.models.mlp import MLP
    from minifp.models.mobilenet_v2 import MobileNetV2
    from minifp.models.preact_resnet import PreActResNet50
    from minifp.models.resnet import ResNet18, ResNet34, ResNet50
    from minifp.models.seq2seq import Seq2Seq
    from minifp.models.ssd import SSD300
    from minifp.models.vgg import VGG
    from minifp.models.vgg16 import VGG16, VGG16BN
    from minifp.models.vit import ViTTiny
late.attach(__name__)

__all__ = ["AlexNet", "BigLSTM", "CIFARResNet", "CharGRU", "CharLSTM", "DCGAN", "DCGAN128"]
__all__ += ["DeepSpeech2", "DeepSpeech2Mandarin", "DenseNet121", "FasterRCNN", "GPT", "GPTConfig"]
__all__ += ["GoogLeNet", "InceptionV2", "InceptionV3", "LeNet", "MLP", "MobileNetV2"]
__all__ += ["PreActResNet50", "ResNet18", "ResNet34", "ResNet50", "SSD300", "Seq2Seq", "VGG"]
__all__ += ["VGG16", "VGG16BN", "ViTTiny", "with_auxiliary"]
