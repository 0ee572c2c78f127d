// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: k x y
// A tree written out by hand, its last step serial.
__kernel void k(__global const float *x, __global float *y) {
  __local float s[64];
  int l = get_local_id(0);
  s[l] = x[get_group_id(0) * 64 + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 32) {
    s[l] += s[l + 32];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16) s[l] = s[l] + s[l + 16];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 8) {
    float v = s[l];
    v += s[l + 8];
    s[l] = v;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    float t = 0;
    for (int i = 0; i < 8; i++)
      t += s[i];
    y[get_group_id(0)] = t;
  }
}
