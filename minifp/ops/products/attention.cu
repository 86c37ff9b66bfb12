// s[.., i, j] = -Inf for the keys j behind query i, of scores (.., L, S): see attention.py.
extern "C" __global__ void hide_later_keys(X *s, size count, size L, size S) {
  for (size at = first_index(); at < count; at += all_threads())
    if (at % S > at / S % L) store(s, at, -INFINITY);
}
