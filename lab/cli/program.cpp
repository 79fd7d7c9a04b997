// Parses the command line, runs the command it names and turns errors into exit codes.
#include "lab/cli/program.hpp"

#include <exception>
#include <ostream>
#include <stdexcept>

#include "lab/cli/commands.hpp"
#include "lab/cli/usage_error.hpp"
#include "sing/base/message.hpp"
#include "sing/c_api/sing.h"

namespace sing::lab {

int run_program(int argument_count, const char* const* arguments, std::ostream& out,
                std::ostream& error, const std::function<void(CLI::App&, Session&)>& add_more) {
  CLI::App app("Trains with centralized and normalized gradients, and measures what that does",
               "sing");
  app.set_version_flag("--version", fmt::format("sing {}", sing_version()));
  app.require_subcommand(1);
  Session session{.out = out};
  add_commands(app, session);
  if (add_more) {
    add_more(app, session);
  }
  try {
    app.parse(argument_count, arguments);
    session.chosen();
    out.flush();
    if (!out) {
      error << "[" << app.get_name() << "] cannot write to the standard output\n";
      return kFailure;
    }
    return session.exit_code;
  } catch (const CLI::Success& help) {
    app.exit(help, out, error);
    return kSuccess;
  } catch (const CLI::ParseError& mistake) {
    error << usage_error(app, mistake) << '\n';
    return kUsage;
  } catch (const std::invalid_argument& mistake) {
    error << mistake.what() << '\n';
    return kUsage;
  } catch (const std::exception& failure) {
    error << failure.what() << '\n';
    return kFailure;
  }
}

}  // namespace sing::lab
