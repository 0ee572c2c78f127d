// one_sweep.cl - mean and variance in one sweep. A row is cut into blocks of NV vectors; every lane keeps a
// running mean and sum of squared distances, and joins those of the next block to them (Chan, Golub and
// LeVeque 1979, the pairwise form of Welford's update), which stays exact where a sum of squares would cancel.
// A second sweep writes the result. One item does ROWS rows.

// [EVOLVE_START]
//kf: param VEC = 8 in {2, 4, 8, 16}
//kf: param NV = 4 in {1, 2, 4, 8, 16}
//kf: param ROWS = 1 in {1, 2, 4, 8, 16}
//kf: param LX = 1 in {1, 4, 16}
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

  FV mean = (FV)(0.0f);
  FV squares = (FV)(0.0f);
  for (int k = 0; k < blocks; k++) {
    FV block[NV];
    FV local_mean = (FV)(0.0f);
#pragma unroll
    for (int j = 0; j < NV; j++) {
      block[j] = LOAD(0, x + (k * NV + j) * VEC);
      local_mean += block[j];
    }
    local_mean *= 1.0f / NV;
#pragma unroll
    for (int j = 0; j < NV; j++)
      squares += (block[j] - local_mean) * (block[j] - local_mean);
    const float weight = 1.0f / (k + 1);
    const FV step = local_mean - mean;
    mean += step * weight;
    squares += step * step * (NV * k * weight);
  }

  float means[VEC];
  float parts[VEC];
  STORE(mean, 0, means);
  STORE(squares, 0, parts);
  float centre = 0.0f;
  for (int i = 0; i < VEC; i++)
    centre += means[i];
  centre *= 1.0f / VEC;
  float spread = 0.0f;
  for (int i = 0; i < VEC; i++)
    spread += parts[i] + (means[i] - centre) * (means[i] - centre) * (blocks * NV);
  for (int c = full; c < cols; c++) {
    const float step = x[c] - centre;
    centre += step / (c + 1);
    spread += step * (x[c] - centre);
  }

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
