import { defineConfig } from 'vitest/config';
import { base, globalSetup, RULES } from './vitest.config.ts';

/** What is read in the texts of the repository: structure, house rules, pinned names, docs. */
export default defineConfig({ ...base, test: { ...base.test, globalSetup, include: [RULES], isolate: false } });
