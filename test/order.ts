import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What starts processes or a browser, and waits for them: a file of few lines may take long. */
const LONG = /\/test\/(?:journeys|reliability|extensions\/web_channel)\//;

/** Begins with what takes long, so that no worker is alone with it at the end. What it cannot know on a clean clone, the folder tells. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project, moduleId }: TestSpecification) => (project.name === 'apart' ? 0 : LONG.test(moduleId) ? 1 : 2);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}
