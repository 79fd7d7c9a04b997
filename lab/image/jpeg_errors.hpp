// What libjpeg says is wrong, as FileError: it jumps out of its own functions, this catches it.
#pragma once

#include <cstddef>
#include <cstdio>
//
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <string>

#include "sing/base/error.hpp"

namespace sing::lab::image {

// Between setjmp and libjpeg's functions no object with a destructor may live.
struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg hands its address back
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];

  jpeg_error_mgr* start() {
    jpeg_std_error(&manager);
    manager.error_exit = leave;
    manager.emit_message = judge;
    message[0] = '\0';
    return &manager;
  }

 private:
  [[noreturn]] static void leave(j_common_ptr info) {
    auto* const errors = reinterpret_cast<JpegErrors*>(info->err);
    info->err->format_message(info, errors->message);
    std::longjmp(errors->jump, 1);
  }

  // Warnings after which pixels are made up. Others (bytes between markers, odd headers) leave the
  // pixels whole.
  static void judge(j_common_ptr info, int level) {
    if (level >= 0) {
      return;
    }
    switch (info->err->msg_code) {
      case JWRN_JPEG_EOF:
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_MUST_RESYNC:
        leave(info);
      default:
        return;
    }
  }
};

}  // namespace sing::lab::image
