create or replace function loom._work_counted(p_kind text, p_outcome text, p_more bigint, p_at timestamptz) returns void
language plpgsql volatile
as $$
begin
  insert into loom.work_count (kind, outcome, total, last_at) values (p_kind, p_outcome, p_more, p_at)
  on conflict (kind, outcome) do update
    set total = work_count.total + excluded.total, last_at = greatest(work_count.last_at, excluded.last_at);
end
$$;
comment on function loom._work_counted(text, text, bigint, timestamptz) is
  'Adds to the counts of claims, ends and tokens. Its row is one for all orgs, so that nothing but the pass is locked behind it.';
