// expect: memory=1 algorithm=0 coordination=0 matrix=0
// base: operations=1 sweeps=3
// buffers: x=in y=out
// launch: softmax x y -
// evidence: sweeps=3 vector_width=4
// The tail behind a loop over whole vectors belongs to the same sweep, however it is written.
__kernel void softmax(__global const float *x, __global float *y, int cols) {
  __global const float *in = x + get_global_id(0) * cols;
  __global float *out = y + get_global_id(0) * cols;
  const int whole = cols / 4 * 4;
  float4 m4 = -INFINITY, s4 = 0.0f;
  for (int c = 0; c < whole; c += 4) m4 = fmax(m4, vload4(0, in + c));
  float m = fmax(fmax(m4.x, m4.y), fmax(m4.z, m4.w));
  for (int c = whole; c < cols; c++) m = fmax(m, in[c]);
  int c = 0;
  for (; c + 4 <= cols; c += 4) s4 += exp(vload4(0, in + c) - m);
  float sum = s4.x + s4.y + s4.z + s4.w;
  for (; c < cols; c++) sum += exp(in[c] - m);
  c = 0;
  while (c + 4 <= cols) {
    vstore4(exp(vload4(0, in + c) - m) / sum, 0, out + c);
    c += 4;
  }
  while (c < cols) {
    out[c] = exp(in[c] - m) / sum;
    c++;
  }
}
