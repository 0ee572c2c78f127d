// online.cl - the online softmax: one sweep finds the largest value and the sum of exponentials together
// (Milakov and Gimelshein, arXiv 1805.02867), a second one writes the result. A row is cut into blocks of
// NV vectors; when a block brings a larger value, the sum so far is rescaled once. One item does ROWS rows.

// [EVOLVE_START]
//kf: param VEC = 8 in {2, 4, 8, 16}
//kf: param NV = 2 in {1, 2, 4, 8, 16}
//kf: param ROWS = 1 in {1, 2, 4, 16, 64}
//kf: param LX = 1 in {1, 4, 16}
//kf: let STEP = ROWS * LX
//kf: launch row_softmax global=(ceil(rows, STEP) * LX) local=(LX) args=(x, y, rows, cols)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

void one_row(__global const float *x, __global float *y, int cols) {
  const int full = cols - cols % (VEC * NV);

  // Each lane keeps its own largest value and sum. They start at -FLT_MAX, not -INFINITY: the
  // difference of two infinities is no number.
  FV top = (FV)(-FLT_MAX);
  FV part = (FV)(0.0f);
  for (int c = 0; c < full; c += VEC * NV) {
    FV block[NV];
    FV next = top;
#pragma unroll
    for (int j = 0; j < NV; j++) {
      block[j] = LOAD(0, x + c + j * VEC);
      next = fmax(next, block[j]);
    }
    part *= exp(top - next);
#pragma unroll
    for (int j = 0; j < NV; j++)
      part += exp(block[j] - next);
    top = next;
  }

  float tops[VEC];
  float parts[VEC];
  STORE(top, 0, tops);
  STORE(part, 0, parts);
  float largest = tops[0];
  for (int i = 1; i < VEC; i++)
    largest = fmax(largest, tops[i]);
  for (int c = full; c < cols; c++)
    largest = fmax(largest, x[c]);
  float sum = 0.0f;
  for (int i = 0; i < VEC; i++)
    sum += parts[i] * exp(tops[i] - largest);
  for (int c = full; c < cols; c++)
    sum += exp(x[c] - largest);

  const float scale = 1.0f / sum;
  int c = 0;
  for (; c + VEC <= cols; c += VEC)
    STORE(exp(LOAD(0, x + c) - largest) * scale, 0, y + c);
  for (; c < cols; c++)
    y[c] = exp(x[c] - largest) * scale;
}

__kernel void row_softmax(__global const float *x, __global float *y, int rows, int cols) {
  const int row0 = get_global_id(0) * ROWS;
  for (int row = row0; row < min(row0 + ROWS, rows); row++)
    one_row(x + row * cols, y + row * cols, cols);
}
// [EVOLVE_END]
