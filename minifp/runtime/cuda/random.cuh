// Random numbers, and rounding by them: as minifp/runtime/random.py and numerics/format_codes.py have
// them.

// Philox 4x32-10 (Salmon et al., SC'11). k0, k1: the key. block: four words each. call: its number.
__device__ inline void philox(unsigned k0, unsigned k1, unsigned long long block,
                              unsigned long long call, unsigned *c) {
  c[0] = (unsigned)block;
  c[1] = (unsigned)(block >> 32);
  c[2] = (unsigned)call;
  c[3] = (unsigned)(call >> 32);
  for (int round = 0; round < 10; round++) {
    unsigned high0 = __umulhi(0xD2511F53u, c[0]), low0 = 0xD2511F53u * c[0];
    unsigned high1 = __umulhi(0xCD9E8D57u, c[2]), low1 = 0xCD9E8D57u * c[2];
    c[0] = high1 ^ c[1] ^ k0;
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ k1;
    c[3] = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
// Word i of a call's.
__device__ inline unsigned word_of(unsigned k0, unsigned k1, unsigned call, size i) {
  unsigned words[4];
  philox(k0, k1, (unsigned long long)i >> 2, call, words);
  return words[i & 3];
}

// ---- rounding by chance --------------------------------------------------------------------------

// The code of x, rounded by a random word, in a format with subnormal numbers and NaN, of less than 23
// bits of mantissa and with exponents that float32 has. largest, beyond, quiet_nan: codes without
// their sign, of the largest number, of what is larger, and of NaN. sign: its place.
__device__ inline unsigned stochastic_code(float x, unsigned word, int mantissa, int bias,
                                           unsigned largest, unsigned beyond, unsigned quiet_nan,
                                           int sign) {
  unsigned bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu, field = magnitude >> 23;
  unsigned fraction = (magnitude & 0x7fffffu) | (field ? 0x800000u : 0u);
  int lowest = 128 - bias, exponent = field ? (int)field : 1;
  int binade = exponent > lowest ? exponent : lowest;
  int shift = binade - exponent + 23 - mantissa;
  unsigned kept = shift < 32 ? fraction >> shift : 0u;
  unsigned rest = shift < 32 ? fraction - (kept << shift) : fraction;
  // floor(2^32 rest / 2^shift)
  unsigned scaled = shift <= 32 ? rest << (32 - shift) : shift < 64 ? rest >> (shift - 32) : 0u;
  unsigned code = ((unsigned)(binade - lowest) << mantissa) + kept + (scaled > word);
  if (code > largest || field == 255) code = beyond;
  if (magnitude > 0x7f800000u) code = quiet_nan;
  return code | (bits >> 31) << sign;
}

__device__ inline void store_code(half *y, size i, unsigned code) {
  reinterpret_cast<unsigned short *>(y)[i] = (unsigned short)code;
}
template <class Bits, int E, int M, bool HAS_INF>
__device__ inline void store_code(Code<Bits, E, M, HAS_INF> *y, size i, unsigned code) {
  y[i].bits = (Bits)code;
}
