import type { Cure } from '../server/cure.ts';
import type { SkillSize } from '../parts/tokens.ts';
import { concerns } from '../server/loaded.ts';

export interface Skill extends SkillSize {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly state: string;
  readonly version?: string;
  readonly reason?: string;
  /** What a person does about its state. */
  readonly cure?: Cure;
  readonly tags?: readonly string[];
}

export interface Finding {
  readonly severity: string;
  readonly message: string;
  readonly cure?: Cure;
  readonly line?: number;
}

export const changesSkills = concerns('skill');
