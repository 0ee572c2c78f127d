// blocks.cl - cache blocking without local memory: one item moves a block of BR rows by BC columns,
// so that both the lines it reads and the lines it writes are used whole. BY_ROWS = 1 reads along rows and
// writes across, BY_ROWS = 0 the other way round. LX by LY items form a group.

// [EVOLVE_START]
//kf: param BR = 16 in {4, 8, 16, 32, 64, 128}
//kf: param BC = 16 in {4, 8, 16, 32, 64, 128}
//kf: param BY_ROWS = 0 in {0, 1}
//kf: param LX = 1 in {1, 2, 4}
//kf: param LY = 1 in {1, 2, 4}
//kf: let GX = ceil(ceil(cols, BC), LX) * LX
//kf: let GY = ceil(ceil(rows, BR), LY) * LY
//kf: launch transpose global=(GX, GY) local=(LX, LY) args=(x, y, rows, cols)

__kernel void transpose(__global const float *x, __global float *y, int rows, int cols) {
  const int c0 = get_global_id(0) * BC;
  const int r0 = get_global_id(1) * BR;
  const int c1 = min(c0 + BC, cols);
  const int r1 = min(r0 + BR, rows);
#if BY_ROWS
  for (int r = r0; r < r1; r++)
    for (int c = c0; c < c1; c++)
      y[c * rows + r] = x[r * cols + c];
#else
  for (int c = c0; c < c1; c++)
    for (int r = r0; r < r1; r++)
      y[c * rows + r] = x[r * cols + c];
#endif
}
// [EVOLVE_END]
