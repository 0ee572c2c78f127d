// one_sweep.cl - mean and variance in one sweep. A row is cut into blocks of NV vectors; every lane keeps its
// sum and its sum of squared distances from the mean, and joins those of the next block to them (Chan, Golub
// and LeVeque 1979), which stays accurate where a plain sum of squares would cancel. A second sweep writes
// the result. One item does ROWS rows.

// [EVOLVE_START]
//kf: param VEC = 8 in {2, 4, 8, 16}
//kf: param NV = 4 in {1, 2, 4, 8, 16}
//kf: param ROWS = 1 in {1, 2, 4, 8, 16}
//kf: param LX = 1 in {1, 4, 16}
//kf: where VEC * NV >= 16
//kf: let STEP = ROWS * LX
//kf: launch layernorm global=(ceil(rows, STEP) * LX) local=(LX) args=(x, gamma, beta, y, rows, cols)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

void one_row(__global const float *x, __global const float *gamma, __global const float *beta,
             __global float *y, int cols) {
  const int blocks = cols / (VEC * NV);
  const int full = blocks * VEC * NV;

  FV sum = (FV)(0.0f);
  FV squares = (FV)(0.0f);
  for (int k = 0; k < blocks; k++) {
    FV block[NV];
    FV block_sum = (FV)(0.0f);
#pragma unroll
    for (int j = 0; j < NV; j++) {
      block[j] = LOAD(0, x + (k * NV + j) * VEC);
      block_sum += block[j];
    }
    const FV block_mean = block_sum * (1.0f / NV);
#pragma unroll
    for (int j = 0; j < NV; j++)
      squares += (block[j] - block_mean) * (block[j] - block_mean);
    const FV step = block_mean - sum * (1.0f / (max(k, 1) * NV));
    squares += step * step * (NV * k / (k + 1.0f));
    sum += block_sum;
  }

  float sums[VEC];
  float parts[VEC];
  STORE(sum, 0, sums);
  STORE(squares, 0, parts);
  float total = 0.0f;
  for (int i = 0; i < VEC; i++)
    total += sums[i];
  float spread = 0.0f;
  const float share = 1.0f / max(full, 1);
  for (int i = 0; i < VEC; i++) {
    const float step = sums[i] * (VEC * share) - total * share;
    spread += parts[i] + step * step * (blocks * NV);
  }
  for (int c = full; c < cols; c++) {
    const float step = x[c] - total / max(c, 1);
    spread += step * step * (c / (c + 1.0f));
    total += x[c];
  }
  const float centre = total / cols;

  const float scale = 1.0f / sqrt(spread / cols + 1e-5f);
  int c = 0;
  for (; c + VEC <= cols; c += VEC)
    STORE((LOAD(0, x + c) - centre) * scale * LOAD(0, gamma + c) + LOAD(0, beta + c), 0, y + c);
  for (; c < cols; c++)
    y[c] = (x[c] - centre) * scale * gamma[c] + beta[c];
}

__kernel void layernorm(__global const float *x, __global const float *gamma, __global const float *beta,
                        __global float *y, int rows, int cols) {
  const int row0 = get_global_id(0) * ROWS;
  for (int row = row0; row < min(row0 + ROWS, rows); row++)
    one_row(x + row * cols, gamma, beta, y + row * cols, cols);
}
// [EVOLVE_END]
