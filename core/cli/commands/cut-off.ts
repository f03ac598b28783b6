/** How to go on after a turn that did not end. */
export function cutOff(thread: string): string {
  return `the last turn did not end; finish it with: pith chat --thread ${thread} --resume`;
}
