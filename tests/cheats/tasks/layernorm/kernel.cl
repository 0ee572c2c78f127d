// kernel.cl - layer normalisation as one writes it first: one work-item for one row, three sweeps
// (mean, variance, result), one value at a time.

// [EVOLVE_START]
//kf: launch layernorm global=(ceil(rows, 64) * 64) local=(64) args=(x, gamma, beta, y, rows, cols)

__kernel void layernorm(__global const float *x, __global const float *gamma, __global const float *beta,
                        __global float *y, int rows, int cols) {
  const int row = get_global_id(0);
  if (row >= rows)
    return;
  x += row * cols;
  y += row * cols;
  float mean = 0.0f;
  for (int c = 0; c < cols; c++)
    mean += x[c];
  mean /= cols;
  float variance = 0.0f;
  for (int c = 0; c < cols; c++)
    variance += (x[c] - mean) * (x[c] - mean);
  variance /= cols;
  for (int c = 0; c < cols; c++)
    y[c] = (x[c] - mean) / sqrt(variance + 1e-5f) * gamma[c] + beta[c];
}
// [EVOLVE_END]
