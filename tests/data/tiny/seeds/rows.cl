// rows.cl - an item goes through a part of a row.

// [EVOLVE_START]
//kf: param PARTS = 1 in {1, 2, 4}
//kf: param UNROLL = 1 in {1, 2, 4}
//kf: param ROWS = 1 in {1, 4, 16}
//kf: let ITEMS = ceil(rows, ROWS) * ROWS
//kf: launch tiny global=(PARTS, ITEMS) local=(1, ROWS) args=(x, w, y, rows, cols)

__kernel void tiny(__global const float *x, __global const float *w, __global float *y, int rows, int cols) {
  const int r = get_global_id(1);
  if (r >= rows)
    return;
  const int part = (cols + PARTS - 1) / PARTS;
  const int first = get_global_id(0) * part, last = min(first + part, cols);
  const float weight = w[r];
#pragma unroll UNROLL
  for (int c = first; c < last; c++)
    y[r * cols + c] = x[r * cols + c] * weight;
}
// [EVOLVE_END]
