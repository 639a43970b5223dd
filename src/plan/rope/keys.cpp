// The keys of a rotation, in its dictionaries or beside them, with their sources; errors point at the key to blame.
#include "plan/rope/keys.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::plan {

using io::JsonValue;

namespace {

constexpr Bounds kLengths{1, kMaxPosition};
constexpr std::string_view kOriginalLength = "original_max_position_embeddings";

}  // namespace

RopeKeys::RopeKeys(RopeDicts& dicts, const LayerTraits& layer, const Sourced<std::int64_t>& trained_length,
                   std::int64_t layers)
    : dicts_(dicts),
      scope_(dicts.scope()),
      places_(dicts.places(layer)),
      trained_length_(trained_length),
      layers_(layers) {}

std::vector<Place> RopeKeys::in_dictionaries(std::string_view name) {
  std::vector<Place> found;
  for (const Place& dictionary : places_) {
    auto place = reader().look(dictionary.value, name);
    if (!place) continue;
    if (place->value.is_null()) {
      reader().mark_lost(*place);  // the same as absent
      continue;
    }
    if (!dictionary.in_file) place = Place{place->value, dictionary.from, false};
    found.push_back(std::move(*place));
  }
  return found;
}

std::optional<Place> RopeKeys::settle(std::vector<Place> candidates) {
  if (candidates.empty()) return {};
  for (std::size_t i = 1; i < candidates.size(); ++i) reader().settle(candidates.front(), candidates[i]);
  reader().mark_read(candidates.front());
  return candidates.front();
}

std::optional<Place> RopeKeys::peek(std::string_view name) {
  std::vector<Place> candidates = in_dictionaries(name);
  if (candidates.empty()) return {};
  return std::move(candidates.front());
}

std::optional<Place> RopeKeys::find(std::string_view name) { return settle(in_dictionaries(name)); }

std::optional<Place> RopeKeys::find(std::string_view name, const Key& beside) {
  std::vector<Place> candidates = in_dictionaries(name);
  if (candidates.empty()) return scope_.find(beside);
  if (auto outside = scope_.peek(beside)) candidates.push_back(std::move(*outside));
  return settle(std::move(candidates));
}

std::optional<Place> RopeKeys::find_beside_first(std::string_view name, const Key& beside) {
  std::vector<Place> candidates = in_dictionaries(name);
  auto outside = scope_.peek(beside);
  if (outside && (outside->in_file || scope_.has_class() || candidates.empty()))
    candidates.insert(candidates.begin(), std::move(*outside));
  return settle(std::move(candidates));
}

void RopeKeys::note(std::string field, const Place& place) {
  blamable_.emplace_back(field.substr(field.rfind('/') + 1), place);
  note(std::move(field), place.from);
}

void RopeKeys::note(std::string field, std::string from) { sources_.push_back({std::move(field), std::move(from)}); }

std::optional<double> RopeKeys::number(std::string_view name) {
  const auto place = find(name);
  if (!place) return {};
  note(formatted("scaling/{}", name), *place);
  return reader().number(*place);
}

std::optional<double> RopeKeys::number(std::string_view name, const Key& beside) {
  const auto place = find(name, beside);
  if (!place) return {};
  note(formatted("scaling/{}", name), *place);
  return reader().number(*place);
}

double RopeKeys::required_number(std::string_view name) {
  const auto value = number(name);
  if (!value) fail_missing(name);
  return value.value_or(1.0);
}

std::optional<bool> RopeKeys::flag(std::string_view name) {
  const auto place = find(name);
  if (!place) return {};
  note(formatted("scaling/{}", name), *place);
  return reader().boolean(*place);
}

void RopeKeys::fail_missing(std::string_view name) {
  if (reader().failed()) return;
  const JsonValue& where = places_.empty() || !places_.front().in_file ? scope_.object() : places_.front().value;
  FileError error = where.error(ErrorKind::missing_key, formatted("a value for {}", name), "the scaling rule needs it");
  error.got = "none";
  reader().fail(std::move(error));
}

bool RopeKeys::reserve_list(const Place& place, std::int64_t entries) {
  if (entries <= kMaxListEntries / layers_) return true;
  reader().fail(place, ErrorKind::limit, formatted("at most {} numbers in all layers", kMaxListEntries),
                formatted("{} numbers x {} layers", entries, layers_));
  return false;
}

std::vector<double> RopeKeys::divisors(std::string_view name, std::int64_t pairs) {
  const auto place = find(name);
  if (!place) {
    fail_missing(name);
    return {};
  }
  note(formatted("scaling/{}", name), *place);
  return read_divisors(*place, pairs);
}

std::optional<Place> RopeKeys::required_beside(const Key& key, std::string_view field) {
  auto place = scope_.find(key);
  if (!place) fail_missing(key.name());
  if (place) note(formatted("scaling/{}", field), *place);
  return place;
}

double RopeKeys::number_beside(const Key& key, std::string_view field) {
  const auto place = required_beside(key, field);
  return place ? reader().number(*place).value_or(1.0) : 1.0;
}

std::int64_t RopeKeys::original_length_beside(const Key& key) {
  const auto place = required_beside(key, kOriginalLength);
  return place ? reader().integer(*place, kLengths).value_or(1) : 1;
}

std::vector<double> RopeKeys::divisors_beside(const Key& key, std::string_view field, std::int64_t pairs) {
  const auto place = required_beside(key, field);
  return place ? read_divisors(*place, pairs) : std::vector<double>{};
}

std::vector<double> RopeKeys::read_divisors(const Place& place, std::int64_t pairs) {
  const auto entries = reader().list(place);
  if (!entries) return {};
  const auto count = static_cast<std::int64_t>(entries->size());
  if (count != pairs) {
    reader().fail(place, ErrorKind::length_mismatch, formatted("{} numbers, one for each pair of channels", pairs),
                  formatted("{} channels rotate, {} / 2 = {}", 2 * pairs, 2 * pairs, pairs));
    return {};
  }
  if (!reserve_list(place, 2 * count)) return {};
  std::vector<double> values;
  values.reserve(entries->size());
  for (const JsonValue& entry : *entries) {
    const Place at{entry, entry.pointer()};
    const auto value = reader().number(at);
    if (value && *value <= 0) reader().fail(at, ErrorKind::out_of_range, "a number above 0");
    if (reader().failed()) return {};
    values.push_back(*value);
  }
  return values;
}

std::optional<Place> RopeKeys::find_original(OriginalLength rule) {
  // What all classes of transformers 5 share (standardize_rope_params) puts the number that stands beside a dictionary
  // for all layers into it, over the dictionary's own; dictionaries by layer type keep theirs.
  const bool has_class = scope_.has_class();
  return dicts_.has_kinds_of_class()     ? find(kOriginalLength)
         : has_class || rule.beside_wins ? find_beside_first(kOriginalLength, keys::kOriginalLength)
                                         : find(kOriginalLength, keys::kOriginalLength);
}

std::int64_t RopeKeys::original_length(OriginalLength rule) {
  const auto place = find_original(rule);
  const std::string field = formatted("scaling/{}", kOriginalLength);
  if (!place && !has_trained_length()) {
    fail_missing(kOriginalLength);
    return 1;
  }
  original_stands_in_ = !place;
  if (!place) {
    note(field, trained_length_.from);
    reader().warn(
        kMissingOriginalLength,
        formatted("{} is not given; the trained length, {}, stands for it.", kOriginalLength, trained_length_.value),
        {});
    return trained_length_.value;
  }
  note(field, *place);
  const std::int64_t length = reader().integer(*place, kLengths).value_or(1);
  const bool exceeds = rule.must_be_less ? length >= trained_length_.value : length > trained_length_.value;
  if (exceeds && place->in_file && has_trained_length()) {
    reader().warn("original-exceeds-max",
                  formatted("{} is {}, and the model is for {} tokens: it was not extended.", place->from, length,
                            trained_length_.value),
                  {place->from});
  }
  return length;
}

double RopeKeys::factor() {
  const double value = required_number("factor");
  if (value > 0 && value < 1) {
    reader().warn("factor-below-one",
                  formatted("{} is {}: the rule shortens instead of stretching.", sources_.back().from, value),
                  {sources_.back().from});
  }
  return value;
}

double RopeKeys::factor_or_stretch(std::int64_t original) {
  if (!has_trained_length()) return factor();
  const double stretch = static_cast<double>(trained_length_.value) / static_cast<double>(original);
  const auto place = find("factor");
  if (!place) {
    note("scaling/factor", formatted("default: {} / {}", trained_length_.value, original));
    return stretch;
  }
  const double given = factor();
  // An original length that is the trained one for want of another says nothing of how far the model was stretched, and
  // transformers 4 took the factor then.
  if (!reader().failed() && given != stretch && !original_stands_in_) {
    reader().warn("factor-mismatch",
                  formatted("{} is {}, but {} / {} = {}; the factor is used (transformers 4 used the quotient).",
                            place->from, given, trained_length_.value, original, stretch),
                  {place->from});
  }
  return given;
}

void RopeKeys::blame(const Problem& problem) {
  // A problem may name an entry of a list: "short_factor[3]".
  const std::string_view field = std::string_view(problem.field).substr(0, problem.field.find('['));
  auto source = std::ranges::find(blamable_, field, &std::pair<std::string, Place>::first);
  // What is computed from several: the first of them that the file says.
  for (const std::string_view part : {"short_factor", "factors", "factor", "alpha", "base"}) {
    if (source == blamable_.end()) source = std::ranges::find(blamable_, part, &std::pair<std::string, Place>::first);
  }
  // "be above 1 for YaRN," -> "above 1 for YaRN"; other verbs: "to lie from 0 to 1".
  std::string_view must = problem.must;
  if (must.ends_with(',')) must.remove_suffix(1);
  const std::string expected = must.starts_with("be ") ? std::string(must.substr(3)) : formatted("to {}", must);
  if (source != blamable_.end() && source->first == field) {
    return reader().fail(source->second, ErrorKind::out_of_range, expected);
  }
  if (source != blamable_.end()) {
    return reader().fail(source->second, ErrorKind::out_of_range, formatted("{} to {}", problem.field, problem.must),
                         formatted("it is {}", problem.is));
  }
  FileError error = scope_.object().error(ErrorKind::out_of_range, formatted("{} {}", problem.field, expected));
  error.got = problem.is;
  reader().fail(std::move(error));
}

}  // namespace posenc::plan
