// SPDX-License-Identifier: MIT

/// The stylesheet, the script and the icon of the page, whole.
public enum PageAssets {
    /// Colours, dark and light as the reader's system says: text passes WCAG 2.1 AA (4.5:1) against its ground.
    static let tokens = """
        :root { color-scheme: light dark; --ground: #fff; --raised: #f5f7f9; --text: #1b1f24; --soft: #57606a;
          --line: #d0d7de; --rang: #1a6b2f; --early: #57606a; --late: #805100; --lost: #b3261e; --sip: #0b57d0;
          --push: #6639ba; }
        @media (prefers-color-scheme: dark) { :root { --ground: #14181d; --raised: #1d232a; --text: #e6edf3;
          --soft: #9aa4af; --line: #3a434d; --rang: #56d075; --early: #9aa4af; --late: #e3b341; --lost: #ff8a80;
          --sip: #7ab7ff; --push: #c9a5ff; } }

        """

    /// What a sequence picture needs, on the page and by itself.
    static let picture = """
        .sequence { display: block; font: 12px system-ui, sans-serif; }
        .sequence .ground { fill: var(--ground); } .sequence text { fill: var(--text);
          paint-order: stroke; stroke: var(--ground); stroke-width: 4px; }
        .sequence .column { font-weight: bold; text-anchor: middle; } .sequence .label { text-anchor: middle; }
        .sequence .time, .sequence .soft { fill: var(--soft); }
        .sequence path { stroke-width: 1.5; stroke: var(--line); fill: none; } .sequence path.tip { fill: var(--line); }
        .sequence .pause { stroke-dasharray: 2 5; } .sequence .missing { stroke-dasharray: 6 4; }
        .sequence .ground, .sequence .tip.missing { stroke-dasharray: none; }
        .sequence circle { fill: var(--soft); }
        .sequence path.sip { stroke: var(--sip); } .sequence path.tip.sip { fill: var(--sip); }
        .sequence path.push { stroke: var(--push); } .sequence path.tip.push { fill: var(--push); }
        .sequence path.good { stroke: var(--rang); } .sequence path.tip.good { fill: var(--rang); }
        .sequence path.bad, .sequence path.missing { stroke: var(--lost); }
        .sequence path.tip.bad, .sequence path.tip.missing { fill: var(--lost); }

        """

    private static let page = """
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 76rem; padding: 0 1rem 3rem; background: var(--ground); color: var(--text);
          font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
        a { color: var(--sip); }
        :is(a, input, select, button, summary, pre, .scroll, main):focus-visible { outline: 3px solid var(--sip);
          outline-offset: 2px; }
        main:focus-visible { outline-offset: -3px; }
        .skip, .hidden { position: absolute; left: -99rem; }
        .skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .5rem; z-index: 1; }
        header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: center; padding: .75rem 0;
          border-bottom: 1px solid var(--line); }
        nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: baseline; }
        nav a { text-decoration: none; padding: .25rem 0; }
        nav a[aria-current] { border-bottom: 2px solid var(--sip); }
        .home { color: var(--text); font-size: 1.25rem; font-weight: 700; }
        .turn { margin: 1rem 0; }
        form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
        header form { flex: 1 1 18rem; } header input { flex: 1 1 8rem; min-width: 0; }
        .filter { gap: .5rem 1rem; margin: 1rem 0; padding: .75rem; background: var(--raised); border-radius: .4rem; }
        .filter label { display: flex; gap: .5rem; align-items: center; color: var(--soft); }
        input, select, button { font: inherit; padding: .3rem .6rem; border: 1px solid var(--soft); border-radius: .3rem;
          background: var(--ground); color: var(--text); max-width: 100%; }
        button { cursor: pointer; font-weight: 600; }
        h1 { font-size: 1.5rem; line-height: 1.25; margin: 1.25rem 0 .75rem; }
        h2 { font-size: 1.125rem; line-height: 1.35; margin: 2rem 0 .5rem; }
        p { margin: .5rem 0; }
        ul, ol { padding: 0; margin: 0; list-style: none; }
        .figures { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; color: var(--soft); }
        .figures b { font-size: 1.5rem; color: var(--text); font-variant-numeric: tabular-nums; }
        .marked li, .call { border-left: .25rem solid var(--line); padding: .25rem .75rem; margin: .5rem 0; }
        .call { margin-top: 2rem; } .call h2 { margin-top: 0; }
        li.fine, .call.rang { border-color: var(--rang); } li.failing, .call.lost { border-color: var(--lost); }
        li.doubtful, .call.late { border-color: var(--late); } .call.early { border-color: var(--early); }
        p.good { color: var(--rang); } .empty { color: var(--soft); max-width: 44rem; }
        .when, .callid, time { font-variant-numeric: tabular-nums; } .callid, .when { color: var(--soft); font-size: .875rem; }
        .advice { border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; background: var(--raised); }
        table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
        th { text-align: left; font-weight: 600; color: var(--soft); font-size: .875rem; }
        th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        td time, th, .calls .fate { white-space: nowrap; } .phones td:first-child { min-width: 7rem; } .calls td:nth-child(3) { min-width: 18rem; }
        .fate { font-weight: 600; } .fate::before { content: ""; display: inline-block; width: .7em; height: .7em;
          margin-right: .4em; border-radius: 50%; background: var(--sip); }
        :is(.rang, .early, .late, .lost) .fate::before { background: currentColor; }
        .rang .fate { color: var(--rang); } .early .fate { color: var(--early); }
        .late .fate { color: var(--late); } .lost .fate { color: var(--lost); }
        .charts { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; }
        figure { margin: 0; padding: .75rem; background: var(--raised); border-radius: .4rem; display: flex;
          flex-direction: column; justify-content: space-between; }
        figcaption { color: var(--soft); font-size: .875rem; } figcaption b { display: flex; flex-wrap: wrap;
          gap: 0 .75rem; color: var(--text); } figcaption .rang { color: var(--rang); } figcaption .early { color: var(--early); }
        figcaption .lost { color: var(--lost); } figcaption .half { color: var(--sip); } figcaption .most { color: var(--push); }
        .chart { display: block; width: 100%; height: 4rem; margin-top: .5rem; }
        .chart .base, .chart .line { stroke: var(--line); fill: none; vector-effect: non-scaling-stroke; }
        .chart .rang { fill: var(--rang); } .chart .early { fill: var(--early); } .chart .lost { fill: var(--lost); }
        .chart .line { stroke-width: 3; } .chart .half { stroke: var(--sip); } .chart .most { stroke: var(--push); }
        .axis { display: flex; justify-content: space-between; margin: .25rem 0 0; font-size: .75rem; color: var(--soft); }
        .scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; }
        .tools { display: flex; gap: .75rem; align-items: center; font-size: .875rem; }
        .flow { display: none; }
        .lines li { padding: .1rem 0; } .lines .when { display: inline-block; min-width: 6rem; }
        summary { cursor: pointer; margin: .5rem 0; }
        pre { white-space: pre-wrap; padding: .75rem; background: var(--raised); border-radius: .4rem; font-size: .875rem; }
        aside { margin-top: 2rem; } footer { margin-top: 2rem; color: var(--soft); font-size: .875rem; }
        #live:not(:empty) { position: fixed; inset: auto 0 0; margin: 0; padding: .5rem 1rem; background: var(--lost);
          color: var(--ground); font-size: 1rem; text-align: center; }
        @media (max-width: 46rem) {
          nav { column-gap: .9rem; } .home { font-size: 1.125rem; } header label { flex-basis: 100%; }
          .charts { grid-template-columns: 1fr 1fr; gap: .5rem; }
          .filter label:not(.check) { flex: 1 1 100%; } .filter label > :is(select, [type=search]) { flex: 1; min-width: 0; }
          .picture { display: none; } .flow { display: block; }
          .flow li { border-left: .25rem solid var(--line); padding: .25rem .75rem; }
          .flow .sip { border-color: var(--sip); } .flow .push { border-color: var(--push); }
          .flow .good { border-color: var(--rang); } .flow .bad { border-color: var(--lost); }
          .flow .missing { border-left: .25rem dashed var(--lost); color: var(--lost); }
          .flow .pause { border-left: .25rem dotted var(--line); color: var(--soft); font-size: .875rem; }
          .flow .when { display: block; }
          table, tbody, tr, td { display: block; } thead { position: absolute; left: -99rem; }
          tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } td { border: 0; padding: .1rem 0; }
          td[data-name]::before { content: attr(data-name) ": "; color: var(--soft); }
        }
        @media print {
          header form, .filter, .tools, .turn, aside, .skip, button, footer [role] { display: none; }
          body { max-width: none; } .scroll { overflow: visible; } .sequence { max-width: 100%; height: auto; }
          section, tr { break-inside: avoid; }
        }
        """

    public static let style = tokens + picture + page

    /// A ring that spreads from a dot.
    public static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57d0"/><g fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"><path d="M21 9a9 9 0 0 1 0 14M11 23a9 9 0 0 1 0-14"/></g><circle cx="16" cy="16" r="4" fill="#fff"/></svg>
        """

    /// Takes what is new when the engine says that something is, while somebody looks; nothing moves under a reader who has
    /// unfolded, selected or focused something. Without room for one more listener it asks every 15 seconds.
    public static let script = """
        'use strict';
        const live = document.getElementById('live');
        let events = null, later = 0, isAsking = false;
        function lookLater(pause) {
          clearTimeout(later);
          later = setTimeout(look, pause);
        }
        async function look() {
          const main = document.getElementById('main');
          const isBusy = main.contains(document.activeElement) || main.querySelector('details[open]')
            || String(getSelection()) !== '';
          if (document.hidden) return;
          if (isBusy || isAsking) return lookLater(3000);
          isAsking = true;
          try {
            const here = location.origin + location.pathname + location.search;
            const answer = await fetch(here, { headers: { Accept: 'text/html' } });
            if (!answer.ok) throw new Error(answer.status);
            const next = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main');
            if (next && next.textContent !== main.textContent) { main.replaceChildren(...next.childNodes); reveal(); }
            live.textContent = '';
          } catch (error) {
            live.textContent = 'The engine does not answer; what you see may be old.';
          }
          isAsking = false;
        }
        function listen() {
          if (events) events.close();
          events = null;
          if (document.hidden) return;
          const mine = events = new EventSource(location.origin + '/events' + location.search);
          mine.addEventListener('change', look);
          mine.addEventListener('alive', look);
          mine.onerror = () => {
            look();
            if (mine === events && mine.readyState === EventSource.CLOSED) setTimeout(listen, 15000);
          };
        }
        document.addEventListener('visibilitychange', () => { look(); listen(); });
        addEventListener('pagehide', () => { if (events) events.close(); });
        addEventListener('pageshow', listen);
        function zoom(button, way) {
          const svg = button.closest('.picture').querySelector('svg');
          const now = svg.getBoundingClientRect().width;
          const next = way ? Math.min(4000, Math.max(200, now * (way > 0 ? 1.25 : 0.8))) : svg.viewBox.baseVal.width;
          svg.style.width = next + 'px';
          svg.style.height = 'auto';
        }
        function reveal() {
          for (const button of document.querySelectorAll('button[hidden]')) button.hidden = false;
        }
        addEventListener('click', (event) => {
          const button = event.target.closest('button');
          if (!button) return;
          if (button.dataset.zoom) zoom(button, Number(button.dataset.zoom));
          if (button.dataset.copy) {
            getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
            document.execCommand('copy');
          }
        });
        addEventListener('keydown', (event) => {
          const way = { '+': 1, '=': 1, '-': -1, 0: 0 }[event.key];
          if (way === undefined || event.ctrlKey || event.metaKey || !event.target.closest('.scroll')) return;
          zoom(event.target, way);
          event.preventDefault();
        });
        const trial = document.getElementById('trial');
        async function attempt(event) {
          event.preventDefault();
          const button = event.target.querySelector('button');
          button.disabled = true;
          trial.hidden = false;
          trial.textContent = '';
          try {
            const body = new URLSearchParams(new FormData(event.target));
            const answer = await fetch(location.origin + '/try', { method: 'POST', body });
            const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
            for (let piece = await reader.read(); !piece.done; piece = await reader.read()) trial.append(piece.value);
          } catch (error) {
            trial.append('The engine does not answer.');
          }
          button.disabled = false;
        }
        if (trial) document.getElementById('try').addEventListener('submit', attempt);
        reveal();
        """
}
