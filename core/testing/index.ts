/** For the tests of extensions: `import { testKernel, scriptedModel } from 'pith/testing'`. */
export { fakeClock, type FakeClock } from './fake-clock.ts';
export { expectNoLeaks } from './leak-check.ts';
export { recordEvents, type EventRecord, type RecordedEvent } from './record-events.ts';
export { type CommandOptions, type CommandOutcome } from './run-command.ts';
export { scriptedModel, type ModelRequest, type ScriptedModel, type ScriptedReply, type ScriptedStep } from './scripted-model.ts';
export { expectSkillLoaded, type LoadedSkill, type TurnSkills } from './skills-of-turn.ts';
export { threadLogCases, type ThreadLogCase } from './thread-log-cases.ts';
export { testKernel, type TestKernel, type TestKernelOptions, type TurnOutcome } from './test-kernel.ts';
