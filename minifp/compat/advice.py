"""What to write instead of names and arguments that PyTorch has and minifp has not.

Each row: names, with blanks between, and what is said of all of them.
"""

MORE = (
    # what nothing does, or what is done without being asked
    ("set_printoptions", "np.set_printoptions(...), of NumPy: tensors print as its arrays do"),
    ("backends set_float32_matmul_precision", "leave it out; fp.set_gpu_math says what a GPU does"),
    ("use_deterministic_algorithms", "leave it out: the same program gives the same bits"),
    ("set_detect_anomaly detect_anomaly", "leave it out: a skipped step says what overflowed"),
    ("memory_format strided layout", "leave it out: memory is in C order"),
    ("multiprocessing share_memory share_memory_", "training runs in one process"),
    ("distributions", "F.log_softmax with x.gather, fp.multinomial and fp.randn"),
    ("profiler", "fp.microscope(model, optimizer), or `minifp inspect`"),
    ("parallel elastic rpc", "training runs on one device"),
    ("hub", "fp.models, and fp.load(path, model=...) of safetensors that PyTorch wrote"),
    ("onnx", "fp.save(path, model=...), whose file PyTorch reads and can export"),
    ("package fx overrides library", "there is none: programs are plain Python"),
    ("ao quantization quantized", 'a precision such as fp.precision("float8")'),
    ("mps xpu ipu mtia", 'there are "cpu" and "cuda"'),
    ("accelerator", "fp.cuda.is_available()"),
    ("get_default_device", "x.device"),
    ("version", "fp.__version__"),
    ("vmap func", "write a batch as another axis in front"),
    ("tensorboard", "fp.compare(..., tensorboard=True), or the package tensorboardX"),
    ("checkpoint checkpoint_sequential", "there is none: use smaller batches, and accumulate them"),
    ("cpp_extension", "fp.kernel and fp.op: docs/operations.md"),
    ("modules", "the same names in nn itself"),
    # numbers
    ("int8 uint16 uint32 uint64 int16 qint8", "fp.uint8, fp.int32 or fp.int64"),
    ("complex complex64 complex128 polar", "two tensors, the real and the imaginary part"),
    ("is_complex", "leave it out: numbers are real"),
    ("is_nonzero", "bool(x)"),
    ("asarray", "fp.as_tensor(data)"),
    ("frombuffer from_file", "fp.from_numpy(np.frombuffer(data, np.float32)), or np.fromfile"),
    ("result_type can_cast promote_types", "np.result_type, np.can_cast of dtypes, in NumPy"),
    ("logspace", "10 ** fp.linspace(start, end, steps)"),
    ("addmv addbmm", "x + fp.matmul(a, b)"),
    ("chain_matmul multi_dot", "a @ b @ c"),
    ("inner vdot", "fp.dot(a, b), or (a * b).sum(-1)"),
    ("tensordot kron", "fp.einsum"),
    ("cdist", "(a.unsqueeze(-2) - b.unsqueeze(-3)).norm(dim=-1)"),
    ("logit", "fp.log(p / (1 - p)), or use the input of the sigmoid"),
    ("hypot", "fp.sqrt(a * a + b * b)"),
    ("std_mean", "x.std(dim), x.mean(dim)"),
    ("var_mean", "x.var(dim), x.mean(dim)"),
    ("column_stack dstack block_diag", "fp.cat or fp.stack"),
    ("hsplit vsplit dsplit tensor_split", "fp.split"),
    ("bucketize", "NumPy's np.searchsorted(edges, x.numpy())"),
    ("fft stft hann_window linalg special", "NumPy or SciPy, of x.numpy(), without gradients"),
    (
        "inverse svd det logdet slogdet qr cholesky matrix_power matrix_exp solve",
        "np.linalg of x.numpy(), without gradients",
    ),
    ("random_", "fp.randint(low, high, x.shape)"),
    ("set_", "x.data = numbers"),
    ("storage_offset storage_type", "x.array: the NumPy array itself"),
    ("pin_memory", 'leave it out: DataLoader(device="cuda") copies through pinned memory'),
    # layers and losses
    ("Bilinear bilinear", 'fp.einsum("bi,oij,bj->bo", a, weight, b)'),
    (
        "ChannelShuffle channel_shuffle",
        "x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)",
    ),
    ("CrossMapLRN2d", "nn.LocalResponseNorm"),
    ("MaxUnpool1d MaxUnpool2d max_unpool1d max_unpool2d", "nn.Upsample, or nn.ConvTranspose2d"),
    ("grid_sample affine_grid", "F.interpolate, or transforms of the data"),
    ("gumbel_softmax", "F.softmax((logits - fp.log(-fp.log(fp.rand_like(logits)))) / tau, -1)"),
    ("upsample", "F.interpolate"),
    ("GaussianNLLLoss gaussian_nll_loss", "(0.5 * (var.log() + (x - t) ** 2 / var)).mean()"),
    ("PoissonNLLLoss poisson_nll_loss", "(x.exp() - t * x).mean()"),
    ("SoftMarginLoss soft_margin_loss", "F.softplus(-t * x).mean()"),
    ("MarginRankingLoss margin_ranking_loss", "F.relu(margin - t * (a - b)).mean()"),
    ("HingeEmbeddingLoss hinge_embedding_loss", "fp.where(t == 1, x, F.relu(margin - x)).mean()"),
    (
        "TripletMarginLoss TripletMarginWithDistanceLoss triplet_margin_loss",
        "F.relu(F.pairwise_distance(a, p) - F.pairwise_distance(a, n) + margin).mean()",
    ),
    ("MultiLabelSoftMarginLoss multilabel_soft_margin_loss", "nn.BCEWithLogitsLoss"),
    ("RNNCellBase", "nn.LSTM, nn.GRU or nn.RNN"),
    ("parameters_to_vector", "fp.cat([p.reshape(-1) for p in model.parameters()])"),
    (
        "vector_to_parameters",
        "p.data = part.reshape(p.shape), for the parts of vector.split([p.numel() for p in ps])",
    ),
    ("get_total_norm", "clip_grad_norm_(parameters, math.inf), which only measures"),
    ("prune", "p.mul_(mask) after each step"),
    ("skip_init", "the layer itself: nn.Linear(2, 3)"),
    ("stateless functional_call", "model.load_state_dict(...), and model(x)"),
    ("fuse_conv_bn_eval fuse_conv_bn_weights fusion", "there is none: layers stay separate"),
    # modules and optimizers
    (
        "register_backward_hook register_full_backward_hook register_full_backward_pre_hook",
        "x.register_hook(f) of a tensor in forward, or of a parameter",
    ),
    (
        "register_state_dict_pre_hook register_state_dict_post_hook",
        "change the dict that state_dict() returns",
    ),
    (
        "register_load_state_dict_pre_hook register_load_state_dict_post_hook",
        "change the dict before load_state_dict(state)",
    ),
    ("register_step_pre_hook register_step_post_hook", "call it before or after step()"),
    ("get_extra_state set_extra_state", "a buffer: self.register_buffer(name, tensor)"),
    ("set_submodule", "setattr(parent, name, module)"),
    ("to_empty", 'model.to("cuda")'),
    ("Rprop ASGD Muon Lion", "a rule of your own: docs/operations.md; or optim.SGD"),
    ("LBFGS", "optim.Adam, or optim.SGD with a momentum: there is no line search"),
    ("Adafactor SparseAdam", "optim.Adam"),
    # data
    ("ChainDataset StackDataset", "fp.data.ConcatDataset, or a Dataset of your own"),
    ("default_convert", "fp.data.default_collate"),
    # a GPU
    ("synchronize", "leave it out: reading a number waits for it; for timings use float(loss)"),
    ("empty_cache ipc_collect reset_peak_memory_stats", "leave it out: CuPy keeps the memory"),
    (
        "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_summary",
        "`minifp summary`, or fp.microscope, which show what holds memory",
    ),
    (
        "set_device current_device get_device_name get_device_properties get_device_capability",
        "`minifp doctor` on the command line shows what this machine has",
    ),
    ("get_rng_state_all", "fp.manual_seed(seed), of all random numbers"),
    ("Stream Event stream current_stream", "fp.capture(step), which repeats a step as one graph"),
    ("CUDAGraph graph make_graphed_callables", "fp.capture(step)"),
    ("is_bf16_supported", "leave it out: every device has every format"),
    ("nvtx", "fp.microscope(model, optimizer)"),
)
# Methods of PyTorch's classes that minifp's have not.
OF_MODULES = """
    call_super_init compile dump_patches get_extra_state ipu mtia register_backward_hook
    register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook
    register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook
    set_extra_state set_submodule share_memory to_empty type xpu T_destination
"""
OF_OPTIMIZERS = """
    register_load_state_dict_post_hook register_load_state_dict_pre_hook profile_hook_step
    register_state_dict_post_hook register_state_dict_pre_hook register_step_post_hook
    register_step_pre_hook
"""
# Arguments that PyTorch has, of all functions or as "function.argument".
ARGUMENTS = (
    ("device", 'fp.set_default_device("cuda") before, or .to("cuda") after'),
    ("dtype", 'with fp.precision("mixed"): before, or .half() after'),
    ("capturable differentiable", "leave it out: one kernel updates all weights"),
    ("out", "assign the result, or out.copy_(result)"),
    ("size_average reduce", 'reduction="mean", "sum" or "none"'),
    ("memory_format layout", "leave it out: memory is in C order"),
    ("generator", "leave it out: fp.manual_seed(seed) is of all random numbers"),
    ("verbose", "print(scheduler.get_last_lr())"),
    ("last_epoch", "leave it out, and call load_state_dict(state) to continue"),
    ("map_location", "leave it out: numbers go to the model's device"),
    ("weights_only pickle_module pickle_protocol mmap", "leave it out: a file holds no code"),
    ("only_inputs", "leave it out: no leaf's gradient changes"),
    ("create_graph", "there are no gradients of gradients"),
    ("scale_grad_by_freq sparse", "leave it out: gradients are dense"),
    ("max_norm", "scale long rows of emb.weight.data by hand after each step"),
    ("min_value max_value", "min_val and max_val"),
    ("device_ids output_device", "leave it out: training runs on one device"),
    ("keep_vars", "dict(model.named_parameters())"),
    ("assign", "leave it out: numbers are copied into the parameters"),
    ("dynamic fullgraph backend mode", "leave it out: kernels are compiled when first called"),
)
