create or replace function loom._embedding_due_count(p_model text, p_most integer) returns bigint
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  -- Of all orgs, so it stands in lists of those that look across orgs.
  return (
    select count(*) from (
      select from loom.embedding_due where model = p_model and due_at < 'infinity' limit p_most
    ) as due);
end
$$;
comment on function loom._embedding_due_count(text, integer) is
  'How many texts wait for a vector of a model, leased ones too, in all orgs; it counts no further than so many.';
