#include "cli/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/check.h"
#include "cli/exit_code.h"

namespace casemate::cli {

Interrupt::Interrupt() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  CASEMATE_CHECK(pthread_sigmask(SIG_BLOCK, &wanted, nullptr) == 0);
  signals_ = signalfd(-1, &wanted, SFD_CLOEXEC);
  quit_ = eventfd(0, EFD_CLOEXEC);
  CASEMATE_CHECK(signals_ >= 0 && quit_ >= 0);
  watcher_ = std::jthread([this] { Watch(); });
}

Interrupt::~Interrupt() {
  CASEMATE_CHECK(eventfd_write(quit_, 1) == 0);
  watcher_.join();
  close(signals_);
  close(quit_);
}

void Interrupt::Watch() {
  pollfd wanted[] = {{signals_, POLLIN, 0}, {quit_, POLLIN, 0}};
  for (;;) {
    if (poll(wanted, 2, -1) < 0) continue;
    if (wanted[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof info) != sizeof info) continue;
    if (!source_.request_stop()) _exit(kInterrupted);
  }
}

}  // namespace casemate::cli
