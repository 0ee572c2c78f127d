// kernel.cl - softmax of each row as one writes it first: one work-item for one row, three sweeps
// (largest value, sum of exponentials, result), and every exponential computed twice.

// [EVOLVE_START]
//kf: launch row_softmax global=(ceil(rows, 64) * 64) local=(64) args=(x, y, rows, cols)

__kernel void row_softmax(__global const float *x, __global float *y, int rows, int cols) {
  const int row = get_global_id(0);
  if (row >= rows)
    return;
  x += row * cols;
  y += row * cols;
  float largest = -INFINITY;
  for (int c = 0; c < cols; c++)
    largest = fmax(largest, x[c]);
  float sum = 0.0f;
  for (int c = 0; c < cols; c++)
    sum += exp(x[c] - largest);
  for (int c = 0; c < cols; c++)
    y[c] = exp(x[c] - largest) / sum;
}
// [EVOLVE_END]
