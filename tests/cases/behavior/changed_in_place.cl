// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: k x y -
// An element changed in place is not combined with others.
__kernel void k(__global const float *x, __global float *y, int n) {
  __local float t[64];
  int l = get_local_id(0);
  t[l] = x[l];
  t[l] *= 2.0f;
  float v = t[l];
  t[l] = v + 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int i = 0; i < 64; i++)
    s += t[i] * y[i];
  y[l] = s;
}
