// Checkpoints with published numbers that are not run, and why.
#include "models/checkpoints.h"

namespace posenc::test {
namespace {

constexpr std::string_view kNotKnown = "`read_plan` does not know the family";
constexpr std::string_view kUndecided = "`read_plan` says that its positions are undecided";
constexpr std::string_view kImage = "an image goes in: patches, which the network of the tests does not embed";
constexpr std::string_view kSpeech = "sound goes in: convolutions, which the network of the tests does not have";
constexpr std::string_view kState = "most layers are recurrent, and the network of the tests has attention only";

}  // namespace

const std::vector<LeftOut>& left_out() {
  static const std::vector<LeftOut> kAll{
      {"beit", kUndecided},
      {"beit_cls_cls", kUndecided},
      {"beit_cls_mean", kUndecided},
      {"dinov3", kUndecided},
      {"gpt_oss_mxfp4", "weights in MXFP4, which posenc does not decode; `gpt_oss` is run"},
      {"jamba", kState},
      {"qwen2vl", "the config says Qwen2, and leaves out the rotation's axes; an image goes in"},
      {"qwen3_5", kState},
      {"qwen3_5_moe", kState},
      {"recurrentgemma", kState},
      {"seamless_m4t_v2", "the config says a kind of position that does not exist, and is refused"},
      {"seamless_m4t_v2_relkey", kSpeech},
      {"swin", kNotKnown},
      {"swinv2", kNotKnown},
      {"vit", kImage},
      {"whisper", kSpeech},
  };
  return kAll;
}

}  // namespace posenc::test
