// vector_rows.cl - one item for ROWS rows; the three sweeps of a row run in vectors of VEC values with NV
// independent sums. The values after the last full step are done one by one.

// [EVOLVE_START]
//kf: param VEC = 4 in {2, 4, 8, 16}
//kf: param NV = 1 in {1, 2, 4, 8}
//kf: param ROWS = 1 in {1, 2, 4, 8, 16}
//kf: param LX = 4 in {1, 4, 16}
//kf: let STEP = ROWS * LX
//kf: launch layernorm global=(ceil(rows, STEP) * LX) local=(LX) args=(x, gamma, beta, y, rows, cols)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

// The sum of all elements of NV vectors.
float total(const FV *part) {
  FV sum = part[0];
#pragma unroll
  for (int j = 1; j < NV; j++)
    sum += part[j];
  float lane[VEC];
  STORE(sum, 0, lane);
  float all = 0.0f;
  for (int i = 0; i < VEC; i++)
    all += lane[i];
  return all;
}

void one_row(__global const float *x, __global const float *gamma, __global const float *beta,
             __global float *y, int cols) {
  const int full = cols - cols % (VEC * NV);
  FV part[NV];

#pragma unroll
  for (int j = 0; j < NV; j++)
    part[j] = (FV)(0.0f);
  for (int c = 0; c < full; c += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++)
      part[j] += LOAD(0, x + c + j * VEC);
  float mean = total(part);
  for (int c = full; c < cols; c++)
    mean += x[c];
  mean /= cols;

#pragma unroll
  for (int j = 0; j < NV; j++)
    part[j] = (FV)(0.0f);
  for (int c = 0; c < full; c += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++) {
      const FV d = LOAD(0, x + c + j * VEC) - mean;
      part[j] += d * d;
    }
  float variance = total(part);
  for (int c = full; c < cols; c++)
    variance += (x[c] - mean) * (x[c] - mean);
  variance /= cols;

  const float scale = 1.0f / sqrt(variance + 1e-5f);
  for (int c = 0; c < full; c += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++) {
      const int at = c + j * VEC;
      STORE((LOAD(0, x + at) - mean) * scale * LOAD(0, gamma + at) + LOAD(0, beta + at), 0, y + at);
    }
  for (int c = full; c < cols; c++)
    y[c] = (x[c] - mean) * scale * gamma[c] + beta[c];
}

__kernel void layernorm(__global const float *x, __global const float *gamma, __global const float *beta,
                        __global float *y, int rows, int cols) {
  const int row0 = get_global_id(0) * ROWS;
  for (int row = row0; row < min(row0 + ROWS, rows); row++)
    one_row(x + row * cols, gamma, beta, y + row * cols, cols);
}
// [EVOLVE_END]
