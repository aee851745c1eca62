#include "transport/frame_name.h"

namespace larder {

const char* name_of(FrameType type) {
  switch (type) {
    case FrameType::kHello:
      return "Hello";
    case FrameType::kPing:
      return "Ping";
    case FrameType::kOpenNamespace:
      return "OpenNamespace";
    case FrameType::kRegisterRegion:
      return "RegisterRegion";
    case FrameType::kUnregisterRegion:
      return "UnregisterRegion";
    case FrameType::kBeginRequest:
      return "BeginRequest";
    case FrameType::kEndRequest:
      return "EndRequest";
    case FrameType::kMatch:
      return "Match";
    case FrameType::kGet:
      return "Get";
    case FrameType::kGetData:
      return "GetData";
    case FrameType::kPut:
      return "Put";
    case FrameType::kPutData:
      return "PutData";
    case FrameType::kPutStart:
      return "PutStart";
    case FrameType::kPutPart:
      return "PutPart";
    case FrameType::kPutEnd:
      return "PutEnd";
    case FrameType::kWait:
      return "Wait";
    case FrameType::kRelease:
      return "Release";
    case FrameType::kRenew:
      return "Renew";
    case FrameType::kTouch:
      return "Touch";
    case FrameType::kPin:
      return "Pin";
    case FrameType::kUnpin:
      return "Unpin";
    case FrameType::kRemove:
      return "Remove";
    case FrameType::kRemovePrefix:
      return "RemovePrefix";
    case FrameType::kList:
      return "List";
    case FrameType::kCancel:
      return "Cancel";
    case FrameType::kStats:
      return "Stats";
    case FrameType::kSlabNotice:
      return "SlabNotice";
    case FrameType::kSlabRetired:
      return "SlabRetired";
    case FrameType::kError:
      return "Error";
    case FrameType::kNamespaces:
      return "Namespaces";
    case FrameType::kSetMode:
      return "SetMode";
    case FrameType::kPurge:
      return "Purge";
    case FrameType::kProgress:
      return "Progress";
  }
  return "unknown";
}

}  // namespace larder
