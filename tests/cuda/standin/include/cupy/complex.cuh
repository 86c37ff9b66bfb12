// In place of CuPy's own: minifp has no complex numbers, and these headers are most of CuPy's.
#pragma once
template <class T> struct complex;
