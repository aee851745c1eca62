#pragma once

namespace larder {

/// A call that looks at more keys than one turn of an io thread may take. Its session reads nothing
/// more until it is done, so that calls are answered from what they saw in the order they came, and
/// the frame that it came in stays where it is.
///
/// One io thread. What it holds between steps is its session's, which may end in between.
class CallInSteps {
 public:
  CallInSteps() = default;
  CallInSteps(const CallInSteps&) = delete;
  CallInSteps& operator=(const CallInSteps&) = delete;
  virtual ~CallInSteps() = default;

  /// Well below a millisecond of work. True: it has answered, or left an op that will.
  virtual bool step() = 0;
};

}  // namespace larder
