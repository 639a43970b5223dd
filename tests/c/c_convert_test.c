// Checkpoints in the other pairing, from C: a Llama of one head, four channels and one layer.
#define _XOPEN_SOURCE 700  // mkdtemp
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expect.h"
#include "posenc/c.h"

enum { kRow = 4, kRows = 4 };

static const char kConfig[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 4, \"num_attention_heads\": 1, \"num_hidden_layers\": 1,"
    " \"max_position_embeddings\": 16}";

static void write_all(const char* path, const void* bytes, size_t size) {
  FILE* const file = fopen(path, "wb");
  EXPECT(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

// q, k and v of 4 rows of 4 fp8 each; row r of q holds r.
static void write_weights(const char* path) {
  char header[512];
  const int length = snprintf(header, sizeof header,
                              "{\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[4,4],"
                              "\"data_offsets\":[0,16]},\"model.layers.0.self_attn.k_proj.weight\":{\"dtype\":"
                              "\"F8_E4M3\",\"shape\":[4,4],\"data_offsets\":[16,32]},"
                              "\"model.layers.0.self_attn.v_proj.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[4,4],"
                              "\"data_offsets\":[32,48]}}");
  unsigned char bytes[1024] = {(unsigned char)length, (unsigned char)(length >> 8)};
  memcpy(bytes + 8, header, (size_t)length);
  for (int i = 0; i < 3 * kRows * kRow; ++i) bytes[8 + length + i] = (unsigned char)(i / kRow);
  write_all(path, bytes, 8 + (size_t)length + 3 * kRows * kRow);
}

static void read_rows(const char* path, unsigned char* rows) {
  FILE* const file = fopen(path, "rb");
  EXPECT(file != NULL && fseek(file, -(3L * kRows * kRow), SEEK_END) == 0);
  EXPECT(file != NULL && fread(rows, 1, 3 * kRows * kRow, file) == 3 * kRows * kRow);
  if (file != NULL) fclose(file);
}

static int32_t stop(void* context) {
  ++*(int*)context;
  return 0;
}

int main(void) {
  const char* const temporary = getenv("TMPDIR");
  char folder[512];
  snprintf(folder, sizeof folder, "%s/posenc-c-XXXXXX", temporary != NULL ? temporary : P_tmpdir);
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  EXPECT(mkdir("model", 0777) == 0);
  write_all("model/config.json", kConfig, sizeof kConfig - 1);
  write_weights("model/model.safetensors");

  posenc_convert_args args = POSENC_CONVERT_ARGS_INIT;
  args.source = "model";
  EXPECT_ERROR(posenc_convert(&args, NULL, NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_convert] to must be POSENC_HALF or POSENC_INTERLEAVED but is not given");
  args.to = POSENC_INTERLEAVED;
  size_t size = 0;
  EXPECT(posenc_convert(&args, NULL, &size) == POSENC_OK);  // a dry run
  EXPECT(size > 100 && access("out", F_OK) != 0);
  args.output = "out";
  int asked = 0;
  args.keep_going = stop;
  args.keep_going_context = &asked;
  EXPECT(posenc_convert(&args, NULL, NULL) == POSENC_CANCELLED);
  EXPECT(asked == 1 && access("out", F_OK) != 0);
  args.keep_going = NULL;
  char json[4096] = "";
  size = sizeof json;
  EXPECT(posenc_convert(&args, json, &size) == POSENC_OK);
  EXPECT(size == strlen(json) + 1 && strstr(json, "\"to\": \"interleaved\"") != NULL);
  unsigned char rows[3 * kRows * kRow];
  read_rows("out/model.safetensors", rows);
  const unsigned char expected[12] = {0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10, 11};
  for (int i = 0; i < 3 * kRows * kRow; ++i) EXPECT(rows[i] == expected[i / kRow]);

  args.output = "again";
  args.to = POSENC_HALF;
  EXPECT(posenc_convert(&args, NULL, NULL) == POSENC_WRONG_ARGUMENT);
  args.from = 7;
  EXPECT_ERROR(posenc_convert(&args, NULL, NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_convert] from must be POSENC_HALF or POSENC_INTERLEAVED but is 7");
  args.from = POSENC_INTERLEAVED;
  args.source = "nowhere";
  EXPECT(posenc_convert(&args, NULL, NULL) == POSENC_WRONG_FILE);
  args.source = NULL;
  EXPECT(posenc_convert(&args, NULL, NULL) == POSENC_WRONG_ARGUMENT);
  args.size = 1;
  EXPECT(posenc_convert(&args, NULL, NULL) == POSENC_WRONG_ARGUMENT);
  EXPECT(system("rm -r model out") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
  return verdict();
}
