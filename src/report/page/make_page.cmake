# The template of a report with its style and its script in place, as C++: page_text.h.
#   cmake -DPAGE=page.html -DSTYLE=style.css -DSCRIPTS="a.js;b.js" -DOUT=page_text.h -P make_page.cmake
cmake_minimum_required(VERSION 3.25)

# The base64 (RFC 4648) of a SHA-256 of `text`, as a content security policy names what may run.
function(policy_hash text result)
  string(SHA256 hex "${text}")
  string(APPEND hex "00")  # 32 bytes and one of padding: 11 groups of 3
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(out "")
  foreach(group RANGE 10)
    math(EXPR at "${group} * 6")
    string(SUBSTRING "${hex}" ${at} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR place "(0x${bytes} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${place} 1 letter)
      string(APPEND out ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING "${out}" 0 43 out)
  set(${result} "${out}=" PARENT_SCOPE)
endfunction()

# file(READ) and lists do not go together: brackets and semicolons of a script stay as they are in a quoted string.
file(READ ${STYLE} style)
set(script "")
foreach(part ${SCRIPTS})
  file(READ ${part} text)
  string(APPEND script "${text}")
endforeach()
file(READ ${PAGE} page)
policy_hash("${style}" style_hash)
policy_hash("${script}" script_hash)
string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@NUMBERS@" at)
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR after_at "${at} + 9")
string(SUBSTRING "${page}" ${after_at} -1 after)
file(WRITE ${OUT} "// Made by src/report/page/make_page.cmake of the files there.
#pragma once

#include <string_view>

namespace posenc::report {

// The page before and after its numbers.
inline constexpr std::string_view kBefore = R\"page(${before})page\";
inline constexpr std::string_view kAfter = R\"page(${after})page\";

}  // namespace posenc::report
")
