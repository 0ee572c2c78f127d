// kernel.cl - one work-item for one element, in groups of one: as slow as it gets.

// [EVOLVE_START]
//kf: launch tiny global=(cols, rows) local=(1, 1) args=(x, w, y, rows, cols)

__kernel void tiny(__global const float *x, __global const float *w, __global float *y, int rows, int cols) {
  const int c = get_global_id(0), r = get_global_id(1);
  y[r * cols + c] = x[r * cols + c] * w[r];
}
// [EVOLVE_END]
