/** Where a message is written. */
export function messageBox(): HTMLElement | null {
  return document.querySelector('.composer textarea');
}
