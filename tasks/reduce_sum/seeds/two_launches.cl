// two_launches.cl - PARTS items add a stretch of x each into NV independent vectors of VEC sums and leave
// their sums in a temporary; a second launch of one item adds these. There is no barrier.

// [EVOLVE_START]
//kf: param PARTS = 16 in {2, 4, 8, 16, 32, 64, 256, 1024}
//kf: param LX = 1 in {1, 2, 4}
//kf: param VEC = 4 in {2, 4, 8, 16}
//kf: param NV = 1 in {1, 2, 4, 8, 16}
//kf: where PARTS % LX == 0 && PARTS * VEC * NV >= 32
//kf: temp partial f32 [PARTS]
//kf: launch part_sums global=(PARTS) local=(LX) args=(x, partial, n)
//kf: launch join_sums global=(1) local=(1) args=(partial, total)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

__kernel void part_sums(__global const float *x, __global float *partial, int n) {
  const int item = get_global_id(0);
  const int share = (n + PARTS - 1) / PARTS;
  const int begin = min(item * share, n);
  const int end = min(begin + share, n);
  FV part[NV];
#pragma unroll
  for (int j = 0; j < NV; j++)
    part[j] = (FV)(0.0f);
  int i = begin;
  for (; i < end - (VEC * NV - 1); i += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++)
      part[j] += LOAD(0, x + i + j * VEC);
#pragma unroll
  for (int reach = NV / 2; reach > 0; reach /= 2)
#pragma unroll
    for (int j = 0; j < reach; j++)
      part[j] += part[j + reach];
  float lane[VEC];
  STORE(part[0], 0, lane);
  float sum = 0.0f;
  for (int j = 0; j < VEC; j++)
    sum += lane[j];
  for (; i < end; i++)
    sum += x[i];
  partial[item] = sum;
}

__kernel void join_sums(__global const float *partial, __global float *total) {
  float sum = 0.0f;
  for (int i = 0; i < PARTS; i++)
    sum += partial[i];
  total[0] = sum;
}
// [EVOLVE_END]
