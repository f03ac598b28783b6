/** Saved skills as people and programs use them: who may do what, what is checked before it is stored, what ships. */
export { seedBuiltins } from './builtins.ts';
export { Library, ownerOf, type Asked } from './library.ts';
export type { LibraryPorts } from './ports.ts';
export { pinnedSkills, specOf } from './saving.ts';
export { readSkillFile } from './skill-file.ts';
export { exposedTools, toolNameOf } from './tool-names.ts';
