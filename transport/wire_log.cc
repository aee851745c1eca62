#include "transport/wire_log.h"

#include <google/protobuf/message_lite.h>

namespace larder {

void silence_wire_log() {
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace larder
