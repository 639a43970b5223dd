// What posenc rotate notes in a safetensors file about the tensors that it writes, so that a rotated tensor is not
// taken for one that is not. A .npy file has no place for it.
//
// Of the tensor q, __metadata__ has posenc.rotate.q: a JSON array of what was done to it, in order, each an object
// whose "direction" is "forward" or "inverse".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace posenc::tool {

using Metadata = std::map<std::string, std::string>;

// The array of the tensor of that name; empty where nothing is noted.
std::string rotation_record(const Metadata& metadata, std::string_view tensor);
// Notes one more.
void add_rotation(Metadata& metadata, std::string_view tensor, std::string_view before, const std::string& step);

// Rotations forward less those back: 0 of a tensor that is as it was, 1 of one that has been rotated.
std::int64_t times_rotated(std::string_view record);

}  // namespace posenc::tool
