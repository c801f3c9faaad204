create or replace function loom._embedding_given_up(p_model text, p_most integer) returns bigint
language plpgsql stable
as $$
begin
  return (
    select count(*) from (
      select from loom.embedding_due where model = p_model and due_at = 'infinity' limit p_most
    ) as given_up);
end
$$;
comment on function loom._embedding_given_up(text, integer) is
  'How many texts get no vector of a model until they change, in all orgs; it counts no further than so many.';
