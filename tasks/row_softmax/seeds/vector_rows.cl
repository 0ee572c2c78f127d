// vector_rows.cl - one item for ROWS rows, each row in vectors of VEC values with NV independent sums.
// KEEP = 1 writes the exponentials to y while they are summed and scales them in a third sweep, KEEP = 0
// computes them twice. The values after the last full step are done one by one.

// [EVOLVE_START]
//kf: param VEC = 4 in {2, 4, 8, 16}
//kf: param NV = 1 in {1, 2, 4}
//kf: param KEEP = 1 in {0, 1}
//kf: param ROWS = 1 in {1, 2, 4, 8, 16}
//kf: param LX = 8 in {1, 8, 32}
//kf: let STEP = ROWS * LX
//kf: launch row_softmax global=(ceil(rows, STEP) * LX) local=(LX) args=(x, y, rows, cols)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

void one_row(__global const float *x, __global float *y, int cols) {
  const int full = cols - cols % (VEC * NV);
  float lane[VEC];

  FV top[NV];
#pragma unroll
  for (int j = 0; j < NV; j++)
    top[j] = (FV)(-INFINITY);
  for (int c = 0; c < full; c += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++)
      top[j] = fmax(top[j], LOAD(0, x + c + j * VEC));
#pragma unroll
  for (int j = 1; j < NV; j++)
    top[0] = fmax(top[0], top[j]);
  STORE(top[0], 0, lane);
  float largest = lane[0];
  for (int i = 1; i < VEC; i++)
    largest = fmax(largest, lane[i]);
  for (int c = full; c < cols; c++)
    largest = fmax(largest, x[c]);

  FV part[NV];
#pragma unroll
  for (int j = 0; j < NV; j++)
    part[j] = (FV)(0.0f);
  for (int c = 0; c < full; c += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++) {
      const FV e = exp(LOAD(0, x + c + j * VEC) - largest);
      part[j] += e;
#if KEEP
      STORE(e, 0, y + c + j * VEC);
#endif
    }
#pragma unroll
  for (int j = 1; j < NV; j++)
    part[0] += part[j];
  STORE(part[0], 0, lane);
  float sum = 0.0f;
  for (int i = 0; i < VEC; i++)
    sum += lane[i];
  for (int c = full; c < cols; c++)
    sum += exp(x[c] - largest);

  const float scale = 1.0f / sum;
  for (int c = 0; c < full; c += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++) {
#if KEEP
      const FV e = LOAD(0, y + c + j * VEC);
#else
      const FV e = exp(LOAD(0, x + c + j * VEC) - largest);
#endif
      STORE(e * scale, 0, y + c + j * VEC);
    }
  for (int c = full; c < cols; c++)
    y[c] = exp(x[c] - largest) * scale;
}

__kernel void row_softmax(__global const float *x, __global float *y, int rows, int cols) {
  const int row0 = get_global_id(0) * ROWS;
  for (int row = row0; row < min(row0 + ROWS, rows); row++)
    one_row(x + row * cols, y + row * cols, cols);
}
// [EVOLVE_END]
