// The imitation of a GPU's runtime: see runtime.h.
//
// The threads of a block run one after the other on a fiber, until one waits at a barrier; then the
// next ones go on on another fiber. So a kernel without barriers needs one fiber, and one with
// them as many as it has threads. The order of blocks and threads is shuffled by `rig_seed`. With
// MINIFP_IMITATED_FLUSH=1 subnormal numbers are zero, as in what CuPy compiles.
#include "runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

struct rig_uint3 { unsigned x, y, z; };
extern "C" {
rig_uint3 rig_thread, rig_block, rig_block_dim, rig_grid_dim;
unsigned rig_seed = 0;
}

// ---- fibers ------------------------------------------------------------------------------------

#if defined(__x86_64__)
asm(R"(
.text
.globl rig_switch
rig_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
extern "C" void rig_switch(void **from, void *to);
static void *prepared(char *stack, size_t size, void (*entry)()) {
  uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
  void **sp = (void **)top;
  *--sp = nullptr;                // where entry would return to: it does not
  *--sp = (void *)entry;          // after `ret`, the stack is aligned as after a call
  for (int i = 0; i < 6; i++) *--sp = nullptr;
  return sp;
}
#define RIG_CONTEXT void *
#else
#include <ucontext.h>
struct Switched { ucontext_t context; };
extern "C" void rig_switch(void **from, void *to) {
  swapcontext(&((Switched *)*from)->context, &((Switched *)to)->context);
}
#define RIG_UCONTEXT 1
#endif

namespace {

enum { STACK = 128 * 1024, LANES = 32 };

struct Fiber {
  std::unique_ptr<char[]> stack;
  void *context = nullptr;
#ifdef RIG_UCONTEXT
  Switched own;
#endif
  int thread = -1;        // that it runs
  uint64_t waits_for = 0; // generation of the barrier that must be over
  int warp_waits = -1;    // or the warp whose barrier must be
  bool idle = true, waiting = false;
};

struct Place { const char *function = ""; int line = 0; };  // in a text

struct Warp {
  int arrived = 0, alive = 0;
  unsigned left = 0;      // lanes that have ended, as bits
  unsigned expected = 0;  // those that the shuffle names for which lanes wait now
  Place place;            // of that shuffle
  uint64_t generation = 0;
  uint64_t slots[2][LANES];
};

struct Block {
  void (*call)(void **) = nullptr;
  void **args = nullptr;
  std::vector<int> order;
  size_t next = 0;
  int alive = 0, arrived = 0, flag = 0;
  uint64_t generation = 0;
  std::vector<Warp> warps;
} block;

std::vector<std::unique_ptr<Fiber>> fibers;
Fiber *current = nullptr;
#ifdef RIG_UCONTEXT
Switched scheduler_own;
void *scheduler = &scheduler_own;
#else
void *scheduler = nullptr;
#endif
std::mt19937 randomness;

[[noreturn]] void die(const std::string &why) {
  fprintf(stderr, "imitated GPU: %s\n", why.c_str());
  abort();
}

// The same with the kernel that runs and a place in its text.
[[noreturn]] void die_in_kernel(const std::string &why, Place place) {
  Dl_info told;
  bool is_named = dladdr((void *)block.call, &told) && told.dli_sname;
  std::string name = is_named ? told.dli_sname + strlen("rig_call_") : "?";
  std::string at = ", line " + std::to_string(place.line);
  if (*place.function) at += " in " + std::string(place.function);
  die("kernel " + name + at + ": " + why);
}

void left_too_early(Place place) {
  die_in_kernel("a shuffle names lanes that have ended", place);
}

void set_thread(int t) {
  rig_thread.x = t % rig_block_dim.x;
  rig_thread.y = t / rig_block_dim.x % rig_block_dim.y;
  rig_thread.z = t / (rig_block_dim.x * rig_block_dim.y);
}

void to_scheduler() {
  Fiber *me = current;
  me->waiting = true;
#ifdef __SANITIZE_ADDRESS__
  void *fake;
  __sanitizer_start_switch_fiber(&fake, nullptr, 0);
#endif
  rig_switch(&me->context, scheduler);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  current = me;
  me->waiting = false;
  set_thread(me->thread);
}

void released(int &arrived, int alive, uint64_t &generation) {
  if (arrived && arrived == alive) { arrived = 0; generation++; }
}

// What a fiber does for ever: take the next thread of the block and run it.
void work() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  for (;;) {
    while (block.next < block.order.size()) {
      int t = block.order[block.next++];
      current->thread = t;
      set_thread(t);
      block.call(block.args);
      block.alive--;
      Warp &warp = block.warps[t / LANES];
      unsigned lane = 1u << t % LANES;
      if (warp.arrived && warp.expected & lane) left_too_early(warp.place);
      warp.left |= lane;
      warp.alive--;
      released(block.arrived, block.alive, block.generation);
      released(warp.arrived, warp.alive, warp.generation);
      if (current->waiting) die("a fiber lost its place");
    }
    current->idle = true;
    to_scheduler();
  }
}

void resume(Fiber &f) {
  current = &f;
#ifdef __SANITIZE_ADDRESS__
  void *fake;
  __sanitizer_start_switch_fiber(&fake, f.stack.get(), STACK);
#endif
  rig_switch(&scheduler, f.context);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

Fiber &new_fiber() {
  fibers.emplace_back(new Fiber);
  Fiber &f = *fibers.back();
  f.stack.reset(new char[STACK]);
#ifdef RIG_UCONTEXT
  getcontext(&f.own.context);
  f.own.context.uc_stack.ss_sp = f.stack.get();
  f.own.context.uc_stack.ss_size = STACK;
  makecontext(&f.own.context, work, 0);
  f.context = &f.own;
#else
  f.context = prepared(f.stack.get(), STACK, work);
#endif
  return f;
}

bool can_go_on(const Fiber &f) {
  if (f.idle) return false;
  if (f.warp_waits >= 0) return block.warps[f.warp_waits].generation >= f.waits_for;
  return block.generation >= f.waits_for;
}

void run_block(int threads) {
  block.order.resize(threads);
  for (int t = 0; t < threads; t++) block.order[t] = t;
  if (rig_seed) std::shuffle(block.order.begin(), block.order.end(), randomness);
  block.next = 0;
  block.alive = threads;
  block.arrived = 0;
  block.warps.assign((threads + LANES - 1) / LANES, Warp());
  for (int t = 0; t < threads; t++) block.warps[t / LANES].alive++;
  size_t used = 0;
  while (block.next < block.order.size()) {  // threads that have not begun
    if (used == fibers.size()) new_fiber();
    Fiber &f = *fibers[used++];
    f.idle = false;
    resume(f);
  }
  std::vector<int> places(used);
  for (size_t i = 0; i < used; i++) places[i] = (int)i;
  while (block.alive) {
    if (rig_seed) std::shuffle(places.begin(), places.end(), randomness);
    bool moved = false;
    for (int i : places)
      if (can_go_on(*fibers[i])) { moved = true; resume(*fibers[i]); }
    if (!moved) die("deadlock: not all threads of a block reach the same barrier");
  }
  for (size_t i = 0; i < used; i++)  // those that wait as idle are ready for the next block
    if (!fibers[i]->idle) die("a fiber did not end");
}

std::mutex alone;  // there is one block at a time, whatever threads of Python's launch

#ifdef __SSE__
// Flushes subnormal results and operands as long as it is there, if that is asked for.
struct Flushed {
  unsigned before = _mm_getcsr();
  Flushed() {
    const char *told = getenv("MINIFP_IMITATED_FLUSH");
    if (told && *told && strcmp(told, "0")) _mm_setcsr(before | 0x8040);
  }
  ~Flushed() { _mm_setcsr(before); }
};
#else
struct Flushed { Flushed() {} };
#endif

void launch(void (*call)(void **), const unsigned *grid, const unsigned *size, void **args) {
  std::lock_guard<std::mutex> lock(alone);
  Flushed flushed;
  rig_grid_dim = {grid[0], grid[1], grid[2]};
  rig_block_dim = {size[0], size[1], size[2]};
  block.call = call;
  block.args = args;
  uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  std::vector<uint64_t> order(blocks);
  for (uint64_t i = 0; i < blocks; i++) order[i] = i;
  if (rig_seed) {
    randomness.seed(rig_seed);
    std::shuffle(order.begin(), order.end(), randomness);
  }
  for (uint64_t b : order) {
    rig_block = {(unsigned)(b % grid[0]), (unsigned)(b / grid[0] % grid[1]),
                 (unsigned)(b / grid[0] / grid[1])};
    run_block((int)(size[0] * size[1] * size[2]));
  }
}

}  // namespace

extern "C" {

void rig_barrier() {
  block.arrived++;
  current->waits_for = block.generation + 1;
  current->warp_waits = -1;
  released(block.arrived, block.alive, block.generation);
  if (block.generation < current->waits_for) to_scheduler();
}

// lanes: those that a shuffle names, as bits; 0 where it is only a barrier.
void rig_warp_barrier(unsigned lanes, const char *function, int line) {
  int w = current->thread / LANES;
  Warp &warp = block.warps[w];
  warp.expected = lanes;
  warp.place = {function, line};
  if (lanes & warp.left) left_too_early(warp.place);
  warp.arrived++;
  current->waits_for = warp.generation + 1;
  current->warp_waits = w;
  released(warp.arrived, warp.alive, warp.generation);
  if (warp.generation < current->waits_for) to_scheduler();
}

int rig_lane() { return current->thread % LANES; }
uint64_t *rig_warp_slots() {
  Warp &warp = block.warps[current->thread / LANES];
  return warp.slots[warp.generation & 1];
}
int *rig_block_flag() { return &block.flag; }

// What -fsanitize=alignment calls: with a place in a file, a type, and the logarithm of what it needs.
struct Mismatch { const char *file; int line, column; void *type; unsigned char logarithm, kind; };
void __ubsan_handle_type_mismatch_v1_abort(Mismatch *found, uintptr_t address) {
  die_in_kernel(std::to_string(1 << found->logarithm) + " bytes at once from an address that is " +
                std::to_string(address % (1 << found->logarithm)) + " beyond a multiple of them",
                {"", found->line});
}

}  // extern "C"

// ---- streams and graphs ------------------------------------------------------------------------
//
// Work is done as soon as it is enqueued, unless `late` is set. Then it waits in its stream's queue
// until the host waits for it, and of the streams that can go on the one that goes first is that
// made last (1), that made first (2), or any (from 3 on): only events keep an order between them.

namespace {

typedef std::function<void()> Work;
struct Graph { std::vector<Work> nodes; };
struct Event { uint64_t recorded = 0, reached = 0; };
typedef std::shared_ptr<Event> EventPointer;
struct Item {
  Work work;
  EventPointer event;  // that is recorded here, or waited for
  uint64_t number;
  bool waits;
};
struct Stream {
  std::shared_ptr<Graph> capturing;
  bool invalid = false;
  std::deque<Item> queue;
};
Stream null_stream;
std::vector<Stream *> streams = {&null_stream};
std::recursive_mutex turn;  // of who adds work, or does it
unsigned late = 0;
std::mt19937 choice;

Stream &of(void *stream) { return stream ? *(Stream *)stream : null_stream; }

bool is_ready(const Stream &s) {
  if (s.queue.empty()) return false;
  const Item &next = s.queue.front();
  return !next.waits || next.event->reached >= next.number;
}

void do_one() {
  std::vector<Stream *> ready;
  for (Stream *s : streams) if (is_ready(*s)) ready.push_back(s);
  if (ready.empty()) die("every stream waits for an event that never comes");
  Stream *s = late == 1 ? ready.back() : late == 2 ? ready.front() : ready[choice() % ready.size()];
  Item item = std::move(s->queue.front());
  s->queue.pop_front();
  if (item.work) item.work();
  else if (!item.waits) item.event->reached = item.number;
}

void add(void *stream, Item item) {
  std::lock_guard<std::recursive_mutex> lock(turn);
  of(stream).queue.push_back(std::move(item));
  if (!late) do_one();
}

}  // namespace

void rig::enqueue(void *stream, Work work) {
  Stream &s = of(stream);
  if (s.capturing) s.capturing->nodes.push_back(std::move(work));
  else if (!late) work();
  else add(stream, {std::move(work), nullptr, 0, false});
}

extern "C" {

void rig_wait_all() {
  std::lock_guard<std::recursive_mutex> lock(turn);
  for (Stream *s : streams) while (!s->queue.empty()) do_one();
}
void rig_wait(void *stream) {
  std::lock_guard<std::recursive_mutex> lock(turn);
  while (!of(stream).queue.empty()) do_one();
}
void rig_set_late(unsigned seed) {
  rig_wait_all();
  late = seed;
  choice.seed(seed);
}

void *rig_stream() {
  std::lock_guard<std::recursive_mutex> lock(turn);
  streams.push_back(new Stream);
  return streams.back();
}

void *rig_event() { return new EventPointer(std::make_shared<Event>()); }
void rig_event_free(void *event) { delete (EventPointer *)event; }
void rig_record(void *stream, void *event) {
  EventPointer &e = *(EventPointer *)event;
  add(stream, {nullptr, e, ++e->recorded, false});
}
void rig_wait_event(void *stream, void *event) {
  EventPointer &e = *(EventPointer *)event;
  add(stream, {nullptr, e, e->recorded, true});
}
void rig_wait_for(void *event) {
  std::lock_guard<std::recursive_mutex> lock(turn);
  EventPointer &e = *(EventPointer *)event;
  while (e->reached < e->recorded) do_one();
}

void rig_begin_capture(void *stream) { of(stream).capturing = std::make_shared<Graph>(); }
void rig_invalidate(void *stream) { of(stream).invalid = of(stream).capturing != nullptr; }
int rig_is_capturing(void *stream) {  // 2: it was, but what it captured is of no use
  Stream &s = of(stream);
  return s.invalid ? 2 : s.capturing != nullptr;
}
void *rig_any_capturing() {  // a stream that does, or none
  for (Stream *s : streams) if (s->capturing) return s;
  return nullptr;
}
void *rig_end_capture(void *stream) {
  Stream &s = of(stream);
  auto *graph = s.invalid ? nullptr : new std::shared_ptr<Graph>(s.capturing);
  s.capturing = nullptr;
  s.invalid = false;
  return graph;
}
void rig_graph_launch(void *graph, void *stream) {
  std::shared_ptr<Graph> whole = *(std::shared_ptr<Graph> *)graph;
  rig::enqueue(stream, [=]() { for (auto &node : whole->nodes) node(); });
}
int rig_graph_nodes(void *graph) { return (int)(*(std::shared_ptr<Graph> *)graph)->nodes.size(); }
void rig_graph_free(void *graph) { delete (std::shared_ptr<Graph> *)graph; }

// args: the addresses of the arguments, whose values are copied. sizes: their bytes.
void rig_launch(void *stream, void (*call)(void **), const unsigned *grid, const unsigned *size,
                void **args, const int *sizes, int count) {
  std::vector<std::string> values;
  for (int i = 0; i < count; i++) values.emplace_back((char *)args[i], sizes[i]);
  unsigned g[3] = {grid[0], grid[1], grid[2]}, s[3] = {size[0], size[1], size[2]};
  rig::enqueue(stream, [=]() mutable {
    std::vector<void *> pointers;
    for (auto &value : values) pointers.push_back(&value[0]);
    launch(call, g, s, pointers.data());
  });
}

void rig_callback(void *stream, void (*call)(long), long number) {
  rig::enqueue(stream, [=]() { call(number); });
}
void rig_copy(void *stream, void *target, const void *source, size_t bytes) {
  rig::enqueue(stream, [=]() { memmove(target, source, bytes); });
}
void rig_fill(void *stream, void *target, int byte, size_t bytes) {
  rig::enqueue(stream, [=]() { memset(target, byte, bytes); });
}

}  // extern "C"
