/** What an agent of the mode `single_tool` is told of its tool, each sentence by itself. */
export const NAME_ONLY = 'Give the name of the skill only, with no arguments, such as skill_name "code-review".';
export const IMMEDIATELY = 'When a skill is relevant, call this tool IMMEDIATELY, as your first action, before any other answer.';
export const NEVER_ONLY_ANNOUNCE = 'Never only announce or mention a skill without calling this tool.';
export const ONLY_LISTED = 'Use only the skills that are listed in <skills> below.';
export const NOT_RUNNING = 'Do not call a skill that is already running.';
export const SUPPORTING_FILES =
  'The folder of a skill has supporting files, such as references, templates and scripts: read them with read_skill_resource.';
export const READ_ONLY = 'The folder of a skill is read-only.';
export const COPY_FIRST = 'To change one of its files, copy it to the working directory first, and change the copy.';
export const PYTHON_BY_UV = 'Run Python through uv, and never install packages with the system pip.';

export const SINGLE_TOOL_RULES: readonly string[] = [
  NAME_ONLY,
  IMMEDIATELY,
  NEVER_ONLY_ANNOUNCE,
  ONLY_LISTED,
  NOT_RUNNING,
  SUPPORTING_FILES,
  READ_ONLY,
  COPY_FIRST,
  PYTHON_BY_UV,
];
