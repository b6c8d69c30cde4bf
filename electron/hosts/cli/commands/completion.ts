import {
  badUsage,
  type Command,
  type CommandHost,
  type ExitCode,
  helpOption,
  type Words,
} from "../command.js";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** `all` is asked for late: the command itself is one of them. */
export function completionCommand(all: () => readonly Command[]): Command {
  return {
    name: "completion",
    summary: "print a completion script for a shell",
    usage: "completion bash|zsh|fish",
    details: ["Put the output where your shell looks for it, for example as shown below."],
    options: [],
    examples: [
      "completion bash > ~/.local/share/bash-completion/completions/lastgood",
      "completion zsh > ~/.zfunc/_lastgood",
      "completion fish > ~/.config/fish/completions/lastgood.fish",
    ],
    async run(words: Words, host: CommandHost): Promise<ExitCode> {
      const shell = shells.find((one) => one === words.positionals[0]);
      if (shell === undefined || words.positionals.length > 1)
        throw badUsage("completion", "name a shell: bash, zsh or fish");
      host.terminal.out(script(shell, all()));
      return 0;
    },
  };
}

function script(shell: Shell, all: readonly Command[]): string {
  switch (shell) {
    case "bash":
      return bash(all);
    case "zsh":
      return zsh(all);
    case "fish":
      return fish(all);
  }
}

function optionNames(command: Command): string {
  return [...command.options, helpOption].map(({ name }) => `--${name}`).join(" ");
}

function names(all: readonly Command[]): string {
  return [...all.map(({ name }) => name), "help"].join(" ");
}

function bash(all: readonly Command[]): string {
  const cases = all.map((command) => `    ${command.name}) words="${optionNames(command)}" ;;`);
  return `_lastgood() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${names(all)} --help --version"
  else
    case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    help) words="${names(all)}" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -o bashdefault -F _lastgood lastgood
`;
}

function zsh(all: readonly Command[]): string {
  const rows = all.map(({ name, summary }) => `    ${single(`${name}:${summary}`)}`);
  const cases = all.map(
    (command) =>
      `    ${command.name}) _arguments ${command.options
        .map(({ name, says }) => single(`--${name}[${says.replace(/[[\]:]/g, "")}]`))
        .join(" ")} '*:file:_files' ;;`,
  );
  return `#compdef lastgood
_lastgood() {
  local -a commands
  commands=(
${rows.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _files -/
    return
  fi
  case "$words[2]" in
${cases.join("\n")}
  esac
}
_lastgood "$@"
`;
}

function fish(all: readonly Command[]): string {
  const commands = all.map(
    ({ name, summary }) =>
      `complete -c lastgood -n __fish_use_subcommand -a ${name} -d ${single(summary)}`,
  );
  const options = all.flatMap((command) =>
    command.options.map(({ name, takes, choices, says }) => {
      const value =
        takes === undefined
          ? ""
          : choices === undefined
            ? " -r"
            : ` -x -a ${single(choices.join(" "))}`;
      return `complete -c lastgood -n ${single(`__fish_seen_subcommand_from ${command.name}`)} -l ${name}${value} -d ${single(says)}`;
    }),
  );
  return `${[...commands, ...options].join("\n")}\n`;
}

/** In single quotes for a shell. */
function single(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
