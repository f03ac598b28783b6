import { expect, it } from 'vitest';
import { describePage, openPage, violations } from './browser.ts';

describePage('system', () => {
  it('W15 the graph of extensions is zoomed by buttons and keys, leads to each extension, and stands below it as a table', async () => {
    const broken = '{id: broken, entrypoint: main.ts, provides: [tool], depends_on: [saved_skills]}';
    const { page, faults } = await openPage({
      files: { 'extensions/broken/manifest.yaml': broken, 'extensions/broken/main.ts': 'export default class {}' },
    });
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Graph' }).click();
    const graph = page.getByRole('group', { name: /^Graph of extensions/u });
    await graph.waitFor();
    const view = async () => ((await graph.getAttribute('viewBox')) ?? '').split(' ').map(Number);
    const [, , whole = 0] = await view();
    await graph.focus();
    await page.keyboard.press('+');
    const [left = 0, , closer = 0] = await view();
    expect(closer).toBeLessThan(whole);
    await page.keyboard.press('ArrowRight');
    expect((await view())[0]).toBeGreaterThan(left);
    await page.getByRole('button', { name: /^All of it/u }).click();
    expect((await view())[2]).toBe(whole);
    const row = page.getByRole('row', { name: /^broken/u });
    expect(await row.getByRole('cell').allTextContents()).toEqual([expect.any(String), 'saved_skills', '', '', '']);
    expect(await page.getByRole('row', { name: /^rest_api/u }).textContent()).toContain('http (http.routes)');
    expect(await violations(page)).toEqual([]);
    await graph.getByRole('link', { name: /^broken/u }).press('Enter');
    await page.getByRole('heading', { name: 'broken' }).waitFor();
    expect(faults).toEqual([]);
  });
});
