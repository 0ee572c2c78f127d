// [EVOLVE_START]
//kf: launch sum global=(rows) local=(1) args=(x, y, rows, cols)
__kernel void sum(__global const float *x, __global float *y, int rows, int cols) {
  int r = get_global_id(0);
  float total = 0;
  for (int c = 0; c < cols; c++) total += x[(size_t)r * cols + c];
  y[r] = total;
}
// [EVOLVE_END]
