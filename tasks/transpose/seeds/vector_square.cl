// vector_square.cl - squares of VEC x VEC elements are turned in registers: VEC vector loads, a round of
// interleavings per power of two, VEC vector stores. An item does a tile of TR x TC squares, walking along
// rows or along columns of the tile (ORDER). Squares that cross an edge are moved element by element.

// [EVOLVE_START]
//kf: param VEC = 8 in {2, 4, 8, 16}
//kf: param TR = 1 in {1, 2, 4, 8, 16}
//kf: param TC = 1 in {1, 2, 4, 8, 16}
//kf: param ORDER = 0 in {0, 1}
//kf: param LX = 1 in {1, 4}
//kf: let GX = ceil(ceil(cols, VEC * TC), LX) * LX
//kf: let GY = ceil(rows, VEC * TR)
//kf: launch transpose global=(GX, GY) local=(LX, 1) args=(x, y, rows, cols)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

// The even and the odd elements of two vectors laid end to end. Applied log2(VEC) times to the rows i and
// i + VEC / 2 (as rows 2i and 2i + 1), it turns the square: each round moves one bit of the column number
// into the row number.
void split(FV a, FV b, FV *even, FV *odd) {
#if VEC == 2
  *even = (FV)(a.x, b.x);
  *odd = (FV)(a.y, b.y);
#else
  *even = (FV)(a.even, b.even);
  *odd = (FV)(a.odd, b.odd);
#endif
}

void full_square(__global const float *x, __global float *y, int rows, int cols) {
  FV from[VEC];
  FV to[VEC];
#pragma unroll
  for (int i = 0; i < VEC; i++)
    from[i] = LOAD(0, x + i * cols);
#pragma unroll
  for (int width = 1; width < VEC; width *= 2) {
#pragma unroll
    for (int i = 0; i < VEC / 2; i++)
      split(from[2 * i], from[2 * i + 1], &to[i], &to[i + VEC / 2]);
#pragma unroll
    for (int i = 0; i < VEC; i++)
      from[i] = to[i];
  }
#pragma unroll
  for (int i = 0; i < VEC; i++)
    STORE(from[i], 0, y + i * rows);
}

void square(__global const float *x, __global float *y, int rows, int cols, int r0, int c0) {
  if (r0 + VEC <= rows && c0 + VEC <= cols)
    full_square(x + r0 * cols + c0, y + c0 * rows + r0, rows, cols);
  else
    for (int r = r0; r < min(r0 + VEC, rows); r++)
      for (int c = c0; c < min(c0 + VEC, cols); c++)
        y[c * rows + r] = x[r * cols + c];
}

__kernel void transpose(__global const float *x, __global float *y, int rows, int cols) {
  const int c0 = get_global_id(0) * VEC * TC;
  const int r0 = get_global_id(1) * VEC * TR;
#if ORDER == 0
  for (int i = 0; i < TR; i++)
    for (int j = 0; j < TC; j++)
      square(x, y, rows, cols, r0 + i * VEC, c0 + j * VEC);
#else
  for (int j = 0; j < TC; j++)
    for (int i = 0; i < TR; i++)
      square(x, y, rows, cols, r0 + i * VEC, c0 + j * VEC);
#endif
}
// [EVOLVE_END]
