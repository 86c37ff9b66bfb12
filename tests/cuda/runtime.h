// What imitates a GPU: streams that run or capture work, and blocks of threads as fibers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rig {

// Run `work` now, or add it to the graph that this stream is capturing.
void enqueue(void *stream, std::function<void()> work);

}  // namespace rig

extern "C" void *rig_any_capturing();  // a stream that captures, or none
