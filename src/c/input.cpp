// posenc_prepare_input, posenc_add_input and its backward pass of posenc/c.h: the input stage of a plan's stack,
// add_input.h, for C.
#include <memory>
#include <string>
#include <variant>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"

namespace posenc::c {
namespace {

constexpr const char* kPrepareInput = "posenc_prepare_input";
constexpr const char* kAddInput = "posenc_add_input";
constexpr const char* kInputBackward = "posenc_add_input_backward";

const InputScheme& scheme_of(const posenc_prepare_input_args& given) {
  const std::vector<InputScheme>& input =
      stack_of(kPrepareInput, required(kPrepareInput, "plan", given.plan), given.stack).input;
  if (given.input >= 0 && given.input < std::ssize(input)) return input[static_cast<std::size_t>(given.input)];
  throw Error(kPrepareInput,
              {"input", "be at least 0 and below " + std::to_string(input.size()) + ", as many as the stack has,",
               std::to_string(given.input)});
}

// What the scheme has a place for; what is given beside it is refused, as it would go unread.
InputWeights weights_of(const posenc_prepare_input_args& given, const InputScheme& scheme) {
  const ConstTensorView positions = view(kPrepareInput, "positions", given.positions);
  const ConstTensorView token_types = view(kPrepareInput, "token_types", given.token_types);
  const bool is_learned = std::holds_alternative<LearnedInput>(scheme);
  const bool has_tables = !positions.empty() || !token_types.empty();
  if (has_tables && !is_learned) {
    throw Error(kPrepareInput,
                {"positions and token_types", "be omitted for an input that is not a learned table", "given"});
  }
  if (given.scale != nullptr && !std::holds_alternative<SinusoidalInput>(scheme)) {
    throw Error(kPrepareInput, {"scale", "be NULL for an input that is not sinusoidal", "given"});
  }
  if (is_learned) return LearnedInputWeights{.positions = positions, .token_types = token_types};
  if (given.scale != nullptr) return SinusoidalInputWeights{.scale = *given.scale};
  return {};
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_prepare_input(const posenc_prepare_input_args* args, posenc_prepared_input** prepared) {
  return c::guarded([&] {
    const posenc_prepare_input_args& given = c::sized(c::kPrepareInput, "args", args);
    posenc_prepared_input*& to = c::required(c::kPrepareInput, "prepared", prepared);
    const posenc::InputScheme& scheme = c::scheme_of(given);
    to = std::make_unique<posenc_prepared_input>(
             posenc_prepared_input{
                 prepare_input(scheme, c::weights_of(given, scheme),
                               {.channels = given.channels, .start = given.start, .count = given.count})})
             .release();
  });
}

void posenc_prepared_input_free(posenc_prepared_input* prepared) { delete prepared; }

posenc_status posenc_add_input(const posenc_add_input_args* args) {
  return c::guarded([&] {
    const posenc_add_input_args& given = c::sized(c::kAddInput, "args", args);
    posenc::AddInputArgs call{
        .x = c::view(c::kAddInput, "x", given.x),
        .x_from = c::view(c::kAddInput, "x_from", given.x_from),
        .positions = c::positions_of(c::kAddInput, "positions", given.positions),
        .token_types = c::list(c::kAddInput, "token_types", given.token_types, given.token_types_count),
        .lengths = c::list(c::kAddInput, "lengths", given.lengths, given.lengths_count),
        .cu_seqlens = c::list(c::kAddInput, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
        .parallel = c::parallel_of(given.threads, given.executor)};
    if (given.length != 0) call.length = given.length;
    (void)add_input(c::required(c::kAddInput, "prepared", given.prepared).input, call);
  });
}

posenc_status posenc_add_input_backward(const posenc_add_input_backward_args* args) {
  return c::guarded([&]() -> posenc_status {
    const posenc_add_input_backward_args& given = c::sized(c::kInputBackward, "args", args);
    const auto of = [](const char* field, const posenc_tensor& x) { return c::view(c::kInputBackward, field, x); };
    posenc::AddInputBackwardArgs call{
        .d_out = of("d_out", given.d_out),
        .x = of("x", given.x),
        .positions = c::positions_of(c::kInputBackward, "positions", given.positions),
        .token_types = c::list(c::kInputBackward, "token_types", given.token_types, given.token_types_count),
        .lengths = c::list(c::kInputBackward, "lengths", given.lengths, given.lengths_count),
        .cu_seqlens = c::list(c::kInputBackward, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
        .d_x = of("d_x", given.d_x),
        .d_positions = of("d_positions", given.d_positions),
        .d_token_types = of("d_token_types", given.d_token_types),
        .d_scale = of("d_scale", given.d_scale),
        .parallel = c::parallel_of(given.threads, given.executor),
        .keep_going = c::keep_going_of(given.keep_going, given.keep_going_context)};
    if (given.length != 0) call.length = given.length;
    if (add_input_backward(c::required(c::kInputBackward, "prepared", given.prepared).input, call)) return POSENC_OK;
    return c::keep(POSENC_CANCELLED, "[posenc_add_input_backward] keep_going returned false");
  });
}
