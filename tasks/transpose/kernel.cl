// kernel.cl - the transpose as one writes it first: one work-item moves one element. Neighbours read
// neighbouring addresses, but write `rows` elements apart.

// [EVOLVE_START]
//kf: let GX = ceil(cols, 16) * 16
//kf: let GY = ceil(rows, 16) * 16
//kf: launch transpose global=(GX, GY) local=(16, 16) args=(x, y, rows, cols)

__kernel void transpose(__global const float *x, __global float *y, int rows, int cols) {
  const int c = get_global_id(0);
  const int r = get_global_id(1);
  if (r < rows && c < cols)
    y[c * rows + r] = x[r * cols + c];
}
// [EVOLVE_END]
