// A device below the real CuPy, in the host's memory: what CuPy asks of CUDA's runtime and driver.
//
// CuPy calls the runtime through a table of functions by name, from which standin.py lets it take
// those here that are called standin_NAME. The driver it opens as libcuda.so.1, which this library
// says it is. Streams, graphs and kernels are those of ../runtime.cpp. An answer is a Python object,
// or NULL with an exception; the arguments without names are Cython's.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

extern "C" {

// ---- of Python, and of the imitation -------------------------------------------------------------

struct PyObject;
typedef PyObject *Object;
Object Py_BuildValue(const char *format, ...);
Object PyLong_FromLong(long value);
void PyErr_SetObject(Object type, Object value);

void *rig_stream();
void rig_wait(void *stream);
void rig_wait_all();
void *rig_event();
void rig_event_free(void *event);
void rig_record(void *stream, void *event);
void rig_wait_event(void *stream, void *event);
void rig_wait_for(void *event);
void rig_begin_capture(void *stream);
void rig_invalidate(void *stream);
int rig_is_capturing(void *stream);
void *rig_any_capturing();
void *rig_end_capture(void *stream);
void rig_graph_launch(void *graph, void *stream);
void rig_graph_free(void *graph);
void rig_launch(void *stream, void (*call)(void **), const unsigned *grid, const unsigned *size,
                void **args, const int *sizes, int count);
void rig_copy(void *stream, void *target, const void *source, size_t bytes);
void rig_fill(void *stream, void *target, int byte, size_t bytes);

// ---- errors --------------------------------------------------------------------------------------

enum {
  INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, ILLEGAL_STATE = 401, NOT_FOUND = 500,
  OUT_OF_RESOURCES = 701, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
  CAPTURE_ISOLATION = 905,
};
Object standin_error;  // CuPy's CUDARuntimeError

static Object none() { return Py_BuildValue(""); }
static Object failed(int status) {
  PyErr_SetObject(standin_error, PyLong_FromLong(status));
  return nullptr;
}

// A stream of the imitation: CuPy's numbers for the default ones mean that without a name.
static void *of(intptr_t stream) { return stream > 4096 ? (void *)stream : nullptr; }

// What no stream may capture: its capture is of no use any more.
static Object unless_capturing(void *stream) {
  if (!stream) return none();
  rig_invalidate(stream);
  return failed(CAPTURE_UNSUPPORTED);
}

// ---- the device ----------------------------------------------------------------------------------

enum { HEADER = 512, MIB = 1 << 20 };
static const size_t MEMORY = (size_t)16 << 30;  // bytes of the device
static const size_t POISONED = 64 * MIB;        // of an allocation, at most so many are NaN
static size_t live = 0;                         // bytes that are allocated

int standin_getDevice(int) { return 0; }
int standin_getDeviceCount(int) { return 1; }
int standin_driverGetVersion(int) { return 13000; }
int standin_runtimeGetVersion(int) { return 13000; }
int standin__getCUDAMajorVersion(int) { return 13; }
Object standin__ensure_context() { return none(); }
Object standin_setDevice(int device, int) { return device ? failed(INVALID_DEVICE) : none(); }
Object standin_getDeviceProperties(int device, int) {
  if (device) return failed(INVALID_DEVICE);
  return Py_BuildValue("{s:y,s:n,s:i,s:i}", "name", "a stand-in", "totalGlobalMem",
                       (ssize_t)MEMORY, "multiProcessorCount", 4, "warpSize", 32);
}
int standin_deviceGetAttribute(int attribute, int, int) {
  static const int known[][2] = {
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64},         // threads of a block, and along its axes
      {5, 2147483647}, {6, 65535}, {7, 65535},          // blocks along a grid's axes
      {8, 49152}, {81, 233472}, {97, 232448},           // shared memory
      {10, 32}, {16, 4}, {39, 2048}, {75, 9}, {76, 0},  // warps, multiprocessors, sm_90
  };
  for (auto &pair : known)
    if (pair[0] == attribute) return pair[1];
  return 1;
}
Object standin_deviceSynchronize(int) {
  rig_wait_all();
  return unless_capturing(rig_any_capturing());
}
Object standin_memGetInfo(int) {
  return Py_BuildValue("(nn)", (ssize_t)(MEMORY - live), (ssize_t)MEMORY);
}

// ---- memory --------------------------------------------------------------------------------------

intptr_t standin_malloc(size_t bytes, int) {
  bytes = (bytes + HEADER - 1) / HEADER * HEADER;
  char *block = bytes > MEMORY - live ? nullptr : (char *)aligned_alloc(HEADER, bytes + HEADER);
  if (!block) { failed(OUT_OF_MEMORY); return 0; }
  memcpy(block, &bytes, sizeof bytes);
  memset(block + HEADER, 0xff, bytes < POISONED ? bytes : POISONED);
  live += bytes;
  return (intptr_t)(block + HEADER);
}
Object standin_free(intptr_t pointer, int) {
  if (!pointer) return none();
  rig_wait_all();
  char *block = (char *)pointer - HEADER;
  size_t bytes;
  memcpy(&bytes, block, sizeof bytes);
  live -= bytes;
  free(block);
  return none();
}
intptr_t standin_hostAlloc(size_t bytes, unsigned, int) {
  return (intptr_t)aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}
Object standin_freeHost(intptr_t pointer, int) {
  rig_wait_all();
  free((void *)pointer);
  return none();
}
int standin_pointerGetMemoryType(intptr_t, int) { return 0; }  // not pinned, of what CuPy asks

Object standin_memcpyAsync(intptr_t to, intptr_t from, size_t bytes, int, intptr_t stream, int) {
  rig_copy(of(stream), (void *)to, (void *)from, bytes);
  return none();
}
Object standin_memcpy(intptr_t to, intptr_t from, size_t bytes, int kind, int) {
  if (void *stream = rig_any_capturing()) return unless_capturing(stream);
  rig_wait(nullptr);
  return standin_memcpyAsync(to, from, bytes, kind, 0, 0);
}
Object standin_memsetAsync(intptr_t to, int byte, size_t bytes, intptr_t stream, int) {
  rig_fill(of(stream), (void *)to, byte, bytes);
  return none();
}

// ---- streams, events, graphs ---------------------------------------------------------------------

struct Event {
  void *point = rig_event();
  bool captured = false;
  double seconds = 0;
};

intptr_t standin_streamCreate(int) { return (intptr_t)rig_stream(); }
intptr_t standin_streamCreateWithFlags(unsigned, int) { return (intptr_t)rig_stream(); }
intptr_t standin_streamCreateWithPriority(unsigned, int, int) { return (intptr_t)rig_stream(); }
Object standin_streamDestroy(intptr_t stream, int) {
  rig_wait(of(stream));
  return none();
}
Object standin_streamQuery(intptr_t, int) { return PyLong_FromLong(0); }
Object standin_streamSynchronize(intptr_t stream, int) {
  if (rig_is_capturing(of(stream))) return unless_capturing(of(stream));
  rig_wait(of(stream));
  return none();
}
Object standin_streamWaitEvent(intptr_t stream, intptr_t event, int, void *) {
  Event *waited = (Event *)event;
  bool captures = rig_is_capturing(of(stream));
  if (waited->captured != captures) {
    if (captures) rig_invalidate(of(stream));
    return failed(CAPTURE_ISOLATION);
  }
  if (!captures) rig_wait_event(of(stream), waited->point);
  return none();
}
Object standin_streamBeginCapture(intptr_t stream, int, void *) {
  if (!of(stream)) return failed(CAPTURE_UNSUPPORTED);
  rig_begin_capture(of(stream));
  return none();
}
intptr_t standin_streamEndCapture(intptr_t stream, int) {
  void *graph = nullptr;
  if (!rig_is_capturing(of(stream))) failed(ILLEGAL_STATE);
  else if (!(graph = rig_end_capture(of(stream)))) failed(CAPTURE_INVALIDATED);
  return (intptr_t)graph;
}
int standin_streamIsCapturing(intptr_t stream, int) {
  int state = rig_is_capturing(of(stream));
  if (state == 2) failed(CAPTURE_INVALIDATED);
  return state == 2 ? -1 : state;
}

intptr_t standin_eventCreate(int) { return (intptr_t) new Event; }
intptr_t standin_eventCreateWithFlags(unsigned, int) { return (intptr_t) new Event; }
Object standin_eventDestroy(intptr_t event, int) {
  rig_event_free(((Event *)event)->point);
  delete (Event *)event;
  return none();
}
Object standin_eventRecord(intptr_t event, intptr_t stream, int) {
  Event *recorded = (Event *)event;
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  recorded->seconds = std::chrono::duration<double>(now).count();
  recorded->captured = rig_is_capturing(of(stream));
  if (!recorded->captured) rig_record(of(stream), recorded->point);
  return none();
}
Object standin_eventSynchronize(intptr_t event, int) {
  if (((Event *)event)->captured) return unless_capturing(rig_any_capturing());
  rig_wait_for(((Event *)event)->point);
  return none();
}
Object standin_eventQuery(intptr_t, int) { return PyLong_FromLong(0); }
float standin_eventElapsedTime(intptr_t start, intptr_t end, int) {
  float milliseconds = (float)(1e3 * (((Event *)end)->seconds - ((Event *)start)->seconds));
  return milliseconds > 1e-4f ? milliseconds : 1e-4f;
}

// The graph that can be launched is the one that was captured, and is freed with it.
intptr_t standin_graphInstantiate(intptr_t graph, int) { return graph; }
Object standin_graphDestroy(intptr_t, int) { return none(); }
Object standin_graphExecDestroy(intptr_t graph, int) {
  rig_wait_all();
  rig_graph_free((void *)graph);
  return none();
}
Object standin_graphLaunch(intptr_t graph, intptr_t stream, int) {
  rig_graph_launch((void *)graph, of(stream));
  return none();
}
Object standin_graphUpload(intptr_t, intptr_t, int) { return none(); }

// ---- the driver: modules are libraries, as build.py makes them -----------------------------------

struct Kernel {
  void (*call)(void **);
  int most_threads, count, sizes[512];
};

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuGetErrorName(int, const char **name) { *name = "the stand-in"; return 0; }
int cuGetErrorString(int status, const char **text) {
  *text = status == OUT_OF_RESOURCES ? "more threads than registers are enough for" : "refused";
  return 0;
}
int cuCtxGetCurrent(void **context) { *context = (void *)0x1000; return 0; }

// The image is the path of a library.
int cuModuleLoadData(void **module, const void *image) {
  *module = dlopen((const char *)image, RTLD_NOW);
  if (!*module) fprintf(stderr, "stand-in: %s\n", dlerror());
  return *module ? 0 : NOT_FOUND;
}
int cuModuleUnload(void *) { return 0; }  // a graph may still launch its kernels
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char symbol[1024];
  auto entry = [&](const char *kind) {
    snprintf(symbol, sizeof symbol, "rig_%s_%s", kind, name);
    return dlsym(module, symbol);
  };
  if (!entry("call")) return NOT_FOUND;
  Kernel *kernel = new Kernel;
  kernel->call = (void (*)(void **))entry("call");
  kernel->count = ((int (*)(int *))entry("sizes"))(kernel->sizes);
  kernel->most_threads = *(int *)entry("bound");
  *function = kernel;
  return 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **args, void **) {
  Kernel *kernel = (Kernel *)function;
  unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  uint64_t threads = (uint64_t)bx * by * bz;
  if (!gx || !gy || !gz || gx > 2147483647u || gy > 65535 || gz > 65535) return INVALID_VALUE;
  if (!threads || threads > 1024 || bz > 64 || shared > 49152) return INVALID_VALUE;
  if ((int)threads > kernel->most_threads) return OUT_OF_RESOURCES;
  if (rig_is_capturing(of((intptr_t)stream)) == 2) return CAPTURE_INVALIDATED;
  rig_launch(of((intptr_t)stream), kernel->call, grid, block, args, kernel->sizes, kernel->count);
  return 0;
}

}  // extern "C"
