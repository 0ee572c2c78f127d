// expect: memory=0 algorithm=3 coordination=3 matrix=0
// buffers: x=in y=out
// launch: k x y -
// Floats are added by compare and exchange.
__kernel void k(__global const float *x, __global float *y, int n) {
  float s = 0;
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    s += x[i];
  union {
    unsigned u;
    float f;
  } old, new;
  do {
    old.f = y[0];
    new.f = old.f + s;
  } while (atomic_cmpxchg((volatile __global unsigned *)y, old.u, new.u) != old.u);
}
